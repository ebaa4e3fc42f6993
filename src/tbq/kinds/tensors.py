"""Tensors as NumPy arrays: every dtype of TensorFlow, from the raw bytes that the table keeps."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tbq.errors import DamageError, warn
from tbq.table.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

# dtype of the table -> NumPy's, where NumPy has it. Quantised numbers are the integers they are stored as.
_NUMPY = {
    "float32": "<f4", "float64": "<f8", "float16": "<f2", "int8": "<i1", "int16": "<i2", "int32": "<i4",
    "int64": "<i8", "uint8": "<u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8", "bool": "?",
    "complex64": "<c8", "complex128": "<c16", "qint8": "<i1", "quint8": "<u1", "qint16": "<i2",
    "quint16": "<u2", "qint32": "<i4",
}  # fmt: skip

# dtype -> exponent bits, mantissa bits, bias, and what its largest exponent means.
_SMALL_FLOATS = {
    "bfloat16": (8, 7, 127, "ieee"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e4m3fn": (4, 3, 7, "fn"),
    "float8_e4m3fnuz": (4, 3, 8, "fnuz"),
    "float8_e4m3b11fnuz": (4, 3, 11, "fnuz"),
    "float8_e5m2fnuz": (5, 2, 16, "fnuz"),
    "float4_e2m1fn": (2, 1, 1, "finite"),
}
_SMALL_INTS = {"int4": "<i1", "uint4": "<u1", "int2": "<i1", "uint2": "<u1"}  # a byte each


class TensorTable(Table):
    """The `tensors` table; `arrays()` gives NumPy arrays, which may differ in shape from step to step."""

    def arrays(self) -> list[NDArray[Any] | None]:
        """One array per row; None if the tensor could not be decoded (`shape` is null there)."""
        rows = self.to_arrow().select(["dtype", "shape", "data"])
        return [
            None if shape.as_py() is None else array(dtype.as_py(), shape.as_py(), data.as_buffer())
            for dtype, shape, data in zip(*rows.columns, strict=True)
        ]


def array(dtype: str, shape: Sequence[int], data: Any) -> NDArray[Any]:
    """One tensor as a NumPy array of its own.

    bfloat16, the float8 kinds and sub-byte numbers come in ml_dtypes' types where that package is installed,
    else as float32 or int8, with a warning. Strings come as an object array of bytes.

    >>> array("int16", [2, 1], b"\\x01\\x00\\x02\\x00").tolist()
    [[1], [2]]
    """
    import numpy as np

    if dtype == "string":
        return _strings(shape, data)
    if dtype in _NUMPY:
        return np.frombuffer(data, _NUMPY[dtype]).reshape(shape).copy()
    if dtype in _SMALL_FLOATS or dtype in _SMALL_INTS:
        return _small(dtype, data).reshape(shape)
    raise DamageError(
        f"tensors of dtype {dtype} cannot be decoded", hint="their bytes are in the tensors table"
    )


def _strings(shape: Sequence[int], data: Any) -> NDArray[Any]:
    import math

    import numpy as np

    count = math.prod(shape)
    offsets = np.frombuffer(data, "<i8", count + 1)
    texts = bytes(memoryview(data)[8 * (count + 1) :])
    out = np.empty(count, object)
    for i in range(count):
        out[i] = texts[offsets[i] : offsets[i + 1]]
    return out.reshape(shape)


def _small(dtype: str, data: Any) -> NDArray[Any]:
    import numpy as np

    try:
        import ml_dtypes
    except ImportError:
        ml_dtypes = None
    known = getattr(ml_dtypes, dtype, None)
    if known is not None:
        if dtype in _SMALL_INTS:  # the bits above must be the sign's, as ml_dtypes reads only the low ones
            return np.frombuffer(data, _SMALL_INTS[dtype]).astype(known)
        return np.frombuffer(data, known).copy()
    instead = "float32" if dtype in _SMALL_FLOATS else "int8" if dtype.startswith("i") else "uint8"
    warn(f"{dtype} is given as {instead}; install ml_dtypes to get it as it is")
    if dtype in _SMALL_INTS:
        return np.frombuffer(data, _SMALL_INTS[dtype]).copy()
    if dtype == "bfloat16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    return _values(dtype)[np.frombuffer(data, np.uint8)]


@cache
def _values(dtype: str) -> NDArray[np.float32]:
    """What each byte means in a float of at most eight bits."""
    import numpy as np

    exponents, mantissas, bias, special = _SMALL_FLOATS[dtype]
    out = np.zeros(256, np.float32)
    for byte in range(256):
        fraction = byte & ((1 << mantissas) - 1)
        exponent = byte >> mantissas & ((1 << exponents) - 1)
        negative = byte >> (mantissas + exponents) & 1
        if exponent == 0:
            value = fraction * 2.0 ** (1 - bias - mantissas)
        else:
            value = (1 + fraction / (1 << mantissas)) * 2.0 ** (exponent - bias)
        top = exponent == (1 << exponents) - 1
        if special == "ieee" and top:
            value = float("nan") if fraction else float("inf")
        elif (special == "fn" and top and fraction == (1 << mantissas) - 1) or (
            special == "fnuz" and byte == 0x80
        ):
            value = float("nan")
        out[byte] = -value if negative else value
    return out


def corner(values: NDArray[Any], size: int = 4) -> NDArray[Any]:
    """The first few elements along each axis, for a look.

    >>> import numpy as np
    >>> corner(np.arange(100).reshape(10, 10), 2).tolist()
    [[0, 1], [10, 11]]
    """
    return values[tuple(slice(0, size) for _ in range(values.ndim))]
