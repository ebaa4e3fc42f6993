"""TensorProtos as NumPy arrays, as from `tf.make_ndarray`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbq import _core
from tbq.compat.schema import message_spec
from tbq.errors import missing

# The dtypes of TensorFlow's arrays; quantised numbers become the integers that store them.
_ARRAYS = {
    "string": "object", "qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16", "qint32": "int32",
    **{
        name: name
        for name in (
            "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
            "uint64", "bool", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn",
        )
    },
}  # fmt: skip
_FIELDS = message_spec("tensorboard.TensorProto").fields_by_number
# DataType: the dtype, and the field of elements that are not in `tensor_content`.
_DTYPES = {
    number: (_ARRAYS[name], _FIELDS[field].name)
    for name, (number, field) in _core.dtypes().items()
    if name in _ARRAYS
}


def make_ndarray(tensor: Any) -> NDArray[Any]:
    """The array of a TensorProto; if elements are missing, the last is repeated, as in TensorFlow."""
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
