"""Encodes tensors of any dtype as a TensorProto, without loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from tbq import _core, wire
from tbq.write.arguments import as_elements, bad

_LIMIT = 1 << 31  # the limit of a protobuf message

_DTYPES = _core.dtypes()  # dtype -> its DataType, and the field of TensorProto for its elements
# The dtypes that can be written so that TensorBoard reads them -> how their elements are packed.
_PACKED = {
    "float32": "bytes",
    "float64": "bytes",
    "int32": "varint",
    "uint8": "varint",
    "int16": "varint",
    "int8": "varint",
    "complex64": "bytes",
    "int64": "varint",
    "bool": "varint",
    "bfloat16": "bits",
    "uint16": "varint",
    "complex128": "bytes",
    "float16": "bits",
    "uint32": "varint",
    "uint64": "varint",
    "float8_e5m2": "bytes",
    "float8_e4m3fn": "bytes",
}


def encode(value: Any, argument: str = "tensor") -> bytes:
    """A TensorProto."""
    array, name = as_elements(value, argument)
    if name not in _PACKED:
        raise bad(argument, f"got dtype {name}, want one of {', '.join(_PACKED)}")
    packing, (dtype, field) = _PACKED[name], _DTYPES[name]
    if array.nbytes >= _LIMIT:
        raise bad(argument, f"got {array.nbytes} bytes, want less than 2 GB", hint="log only a part of it")
    head = wire.integer(1, dtype) + wire.shape(array.shape)
    flat = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1))
    if packing == "bytes":
        return head + wire.text(field, flat.tobytes())
    integers = flat.view("<u2") if packing == "bits" else flat
    return head + wire.text(field, _core.packed_varints(integers.astype(np.int64)))
