"""The number types of checkpoints: how each is stored, and which NumPy type holds it exactly."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The types NumPy lacks -> (stored as, exponent bits, mantissa bits, bias, what the top codes mean).
_SMALL = {
    "float8_e4m3fn": (4, 3, 7, "nan"),
    "float8_e4m3fnuz": (4, 3, 8, "uz"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e5m2fnuz": (5, 2, 16, "uz"),
    "float8_e8m0fnu": (8, 0, 127, "scale"),
}

_NUMPY = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
_NUMPY |= {"float16", "float32", "float64", "complex64", "complex128"}


def known(name: str) -> bool:
    """Whether elements of this type can be read."""
    return name in _NUMPY or name in _SMALL or name == "bfloat16"


def stored(name: str) -> np.dtype[np.generic]:
    """The NumPy type with the bytes of `name`, little-endian as files have it."""
    if name in _SMALL:
        return np.dtype("u1")
    return np.dtype("<u2" if name == "bfloat16" else name).newbyteorder("<")


def widen(raw: NDArray[np.generic], name: str) -> NDArray[np.generic]:
    """Elements as a native NumPy type that holds each value exactly; a view if nothing changes.

    >>> widen(np.array([0x3F80], "<u2"), "bfloat16")
    array([1.], dtype=float32)
    """
    if name == "bfloat16":
        bits: NDArray[np.uint32] = raw.astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32)
    if name in _SMALL:
        wide: NDArray[np.float32] = _values(name)[raw]
        return wide
    if name == "bool":
        # Any byte except 0 is true; viewing a byte such as 2 as bool is undefined.
        return np.asarray(raw.view(np.uint8) != 0)
    return raw if raw.dtype.isnative else raw.astype(raw.dtype.newbyteorder("="))


@cache
def _values(name: str) -> NDArray[np.float32]:
    exponent_bits, mantissa_bits, bias, top = _SMALL[name]
    values = np.empty(256, np.float32)
    for code in range(256):
        if top == "scale":  # no sign, no zero: a power of two
            values[code] = np.nan if code == 255 else np.float32(2.0 ** (code - bias))
            continue
        sign = -1.0 if code & 0x80 else 1.0
        exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
        mantissa = code & ((1 << mantissa_bits) - 1)
        if exponent == 0:
            value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        else:
            value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
        if (top == "nan" and code & 0x7F == 0x7F) or (top == "uz" and code == 0x80):
            value = np.nan
        elif top == "ieee" and exponent == (1 << exponent_bits) - 1:
            value = np.nan if mantissa else np.inf
        values[code] = sign * value
    return values
