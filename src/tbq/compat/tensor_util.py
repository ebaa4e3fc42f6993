"""TensorProtos as NumPy arrays: what `tf.make_ndarray` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbq.errors import missing

# DataType: the dtype, and the field that holds elements that are not in `tensor_content`.
_DTYPES: dict[int, tuple[str, str]] = {
    1: ("float32", "float_val"), 2: ("float64", "double_val"), 3: ("int32", "int_val"), 4: ("uint8", "int_val"),
    5: ("int16", "int_val"), 6: ("int8", "int_val"), 7: ("object", "string_val"), 8: ("complex64", "scomplex_val"),
    9: ("int64", "int64_val"), 10: ("bool", "bool_val"), 11: ("int8", "int_val"), 12: ("uint8", "int_val"),
    13: ("int32", "int_val"), 14: ("bfloat16", "half_val"), 15: ("int16", "int_val"), 16: ("uint16", "int_val"),
    17: ("uint16", "int_val"), 18: ("complex128", "dcomplex_val"), 19: ("float16", "half_val"),
    22: ("uint32", "uint32_val"), 23: ("uint64", "uint64_val"), 24: ("float8_e5m2", "float8_val"),
    25: ("float8_e4m3fn", "float8_val"),
}  # fmt: skip


def make_ndarray(tensor: Any) -> NDArray[Any]:
    """The array of a TensorProto; the last of too few elements is repeated, as TensorFlow does it."""
    if tensor.dtype not in _DTYPES:
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}")
    name, field = _DTYPES[tensor.dtype]
    dtype = _dtype(name)
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, dtype=dtype).copy().reshape(shape)
    listed = getattr(tensor, field)
    if field == "string_val":
        strings = list(listed)
        strings += [strings[-1] if strings else ""] * (count - len(strings))
        return np.array(strings, dtype=object).reshape(shape)
    if field == "half_val":
        values = np.fromiter(listed, np.uint16).view(dtype)
    elif field == "float8_val":
        values = np.frombuffer(bytes(listed), np.uint8).view(dtype)
    elif field in ("scomplex_val", "dcomplex_val"):
        part = np.float32 if field == "scomplex_val" else np.float64
        values = np.fromiter(listed, part).view(dtype)
    else:
        values = np.fromiter(listed, dtype)
    if values.size == 0:
        return np.zeros(shape, dtype)
    if values.size != count:
        values = np.pad(values, (0, count - values.size), "edge")
    return values.reshape(shape)


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError as absent:
            raise missing("ml_dtypes", needed_for=f"a tensor of {name}", extra="weights") from absent
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
