"""The number types of checkpoints: which of them tbq can read, and how each is stored."""

from __future__ import annotations

import numpy as np

from tbq.arrays import STORED_AS, lacks

_NUMPY = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
_NUMPY |= {"float16", "float32", "float64", "complex64", "complex128"}
_PACKED = {"float4_e2m1fn"}  # several elements per byte


def unreadable(name: str) -> str | None:
    """Why elements of this type cannot be read; None if they can.

    >>> unreadable("float32")
    >>> unreadable("str")
    'tbq cannot read dtype str'
    """
    if name in _PACKED or (name not in _NUMPY and name not in STORED_AS):
        return f"tbq cannot read dtype {name}"
    install = lacks(name)
    return None if install is None else f"dtype {name} needs ml_dtypes: {install}"


def stored(name: str) -> np.dtype[np.generic]:
    """The NumPy type with the same bytes as `name`, little-endian as in files."""
    return np.dtype(STORED_AS.get(name, name)).newbyteorder("<")
