"""Tensors of any dtype as a TensorProto, without loss."""

from __future__ import annotations

from typing import Any

from tbq import _core
from tbq.write import wire
from tbq.write.arguments import _to_numpy, as_array, bad, bfloat16_bits

_LIMIT = 1 << 31  # the limit of a protobuf message

# NumPy dtype -> (DataType, field of TensorProto, how its elements are packed).
_DTYPES = {
    "float32": (1, 5, "raw"),
    "float64": (2, 6, "raw"),
    "int32": (3, 7, "varint"),
    "uint8": (4, 7, "varint"),
    "int16": (5, 7, "varint"),
    "int8": (6, 7, "varint"),
    "complex64": (8, 9, "raw"),
    "int64": (9, 10, "varint"),
    "bool": (10, 11, "varint"),
    "uint16": (17, 7, "varint"),
    "complex128": (18, 12, "raw"),
    "float16": (19, 13, "bits"),
    "uint32": (22, 16, "varint"),
    "uint64": (23, 17, "varint"),
    "float8_e5m2": (24, 18, "raw"),
    "float8_e4m3fn": (25, 18, "raw"),
}
_BFLOAT16 = (14, 13)


def encode(value: Any, argument: str = "tensor") -> bytes:
    """A TensorProto."""
    import numpy as np

    bits = bfloat16_bits(value)
    if bits is not None:
        (dtype, field), packing, array = _BFLOAT16, "varint", bits
    else:
        array = (
            _keep_float8(value) if "float8" in str(getattr(value, "dtype", "")) else as_array(value, argument)
        )
        known = _DTYPES.get(array.dtype.name)
        if known is None:
            raise bad(argument, f"got dtype {array.dtype}, want one of {', '.join(_DTYPES)} or bfloat16")
        dtype, field, packing = known
        if packing == "bits":
            array = np.ascontiguousarray(array).view(np.uint16).reshape(array.shape)
    if array.nbytes >= _LIMIT:
        raise bad(argument, f"got {array.nbytes} bytes, want less than 2 GB", hint="log only a part of it")
    head = wire.integer(1, dtype) + wire.shape(array.shape)
    if packing == "raw":
        return head + wire.text(
            field, np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
        )
    integers = np.ascontiguousarray(array.reshape(-1)).astype(np.int64)
    return head + wire.text(field, _core.packed_varints(integers))


def _keep_float8(value: Any) -> Any:
    import sys

    import numpy as np

    if isinstance(value, np.ndarray):
        return value
    name = str(value.dtype)
    if name.startswith("torch."):
        # NumPy has float8 only through ml_dtypes.
        import ml_dtypes

        raw = np.asarray(value.detach().cpu().contiguous().view(sys.modules["torch"].uint8))
        return raw.view(getattr(ml_dtypes, name.removeprefix("torch.")))
    return _to_numpy(value)
