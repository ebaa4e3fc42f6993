"""Tensors of any dtype as a TensorProto, without loss."""

from __future__ import annotations

from typing import Any

from tbq import _core
from tbq.write import wire
from tbq.write.arguments import as_elements, bad

_LIMIT = 1 << 31  # the limit of a protobuf message

# dtype -> (DataType, field of TensorProto, how its elements are packed).
_DTYPES = {
    "float32": (1, 5, "bytes"),
    "float64": (2, 6, "bytes"),
    "int32": (3, 7, "varint"),
    "uint8": (4, 7, "varint"),
    "int16": (5, 7, "varint"),
    "int8": (6, 7, "varint"),
    "complex64": (8, 9, "bytes"),
    "int64": (9, 10, "varint"),
    "bool": (10, 11, "varint"),
    "bfloat16": (14, 13, "bits"),
    "uint16": (17, 7, "varint"),
    "complex128": (18, 12, "bytes"),
    "float16": (19, 13, "bits"),
    "uint32": (22, 16, "varint"),
    "uint64": (23, 17, "varint"),
    "float8_e5m2": (24, 18, "bytes"),
    "float8_e4m3fn": (25, 18, "bytes"),
}


def encode(value: Any, argument: str = "tensor") -> bytes:
    """A TensorProto."""
    import numpy as np

    array, name = as_elements(value, argument)
    if name not in _DTYPES:
        raise bad(argument, f"got dtype {name}, want one of {', '.join(_DTYPES)}")
    dtype, field, packing = _DTYPES[name]
    if array.nbytes >= _LIMIT:
        raise bad(argument, f"got {array.nbytes} bytes, want less than 2 GB", hint="log only a part of it")
    head = wire.integer(1, dtype) + wire.shape(array.shape)
    flat = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1))
    if packing == "bytes":
        return head + wire.text(field, flat.tobytes())
    integers = flat.view("<u2") if packing == "bits" else flat
    return head + wire.text(field, _core.packed_varints(integers.astype(np.int64)))
