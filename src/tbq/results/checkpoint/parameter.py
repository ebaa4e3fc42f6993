"""A parameter of a model: its name, its shape, and its elements block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.arrays import dtype_name, raw, widen
from tbq.errors import SourceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

BLOCK = 1 << 16  # elements: half a MiB of float64 fits the CPU cache


def split_name(name: str) -> tuple[str, str]:
    """A full name split at its last `.` or `/` into layer and parameter.

    >>> split_name("encoder.layer.0.weight")
    ('encoder.layer.0', 'weight')
    >>> split_name("bias")
    ('', 'bias')
    """
    cut = max(name.rfind("."), name.rfind("/"))
    return (name[:cut], name[cut + 1 :]) if cut >= 0 else ("", name)


def as_text(name: str) -> str:
    """A name that every format can encode: a lone surrogate becomes an escape.

    >>> as_text("layer" + chr(0xD800))
    'layer\\\\ud800'
    """
    return name.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True)
class Parameter:
    """A named array whose elements are read on demand, in C order, never all at once."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    # Takes a number of elements; returns flat arrays of at most so many, in a NumPy type that holds each value exactly.
    read: Callable[[int], Iterator[Array]] = field(repr=False)
    # Why the elements cannot be read; None if they can.
    unreadable: str | None = None

    def __post_init__(self) -> None:
        # Both come from untrusted files.
        object.__setattr__(self, "name", as_text(self.name))
        object.__setattr__(self, "dtype", as_text(self.dtype))

    @property
    def layer(self) -> str:
        return split_name(self.name)[0]

    @property
    def parameter(self) -> str:
        return split_name(self.name)[1]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def row(self) -> dict[str, Any]:
        """Its columns in tables; an impossibly large shape has no count."""
        return {
            "layer": self.layer,
            "parameter": self.parameter,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "count": self.count if self.count < 1 << 63 else None,
        }

    def blocks(self, size: int = BLOCK) -> Iterator[Array]:
        """The elements in C order; raises if the file ends early."""
        if self.unreadable:
            raise SourceError(f"the elements of '{self.name}' cannot be read: {self.unreadable}")
        seen = 0
        for block in self.read(size):
            seen += block.size
            yield block
        if seen != self.count:
            raise SourceError(f"'{self.name}' has {seen} elements, want {self.count} for shape {self.shape}")


def array_parameter(name: str, array: Any) -> Parameter:
    """A parameter from an array or tensor of any framework, converted when it is read."""
    from tbq.results.dtypes import unreadable

    dtype = dtype_name(array)

    def read(size: int) -> Iterator[Array]:
        flat = raw(array)[0].reshape(-1)
        for start in range(0, flat.size, size):
            yield widen(flat[start : start + size], dtype)

    return Parameter(name, tuple(int(n) for n in array.shape), dtype, read, unreadable=unreadable(dtype))


def slabs(shape: Sequence[int], size: int) -> Iterator[tuple[slice | int, ...]]:
    """Selections of at most `size` elements that cover an array of this shape in C order.

    >>> list(slabs((2, 3), 2))
    [(0, slice(0, 2, None)), (0, slice(2, 3, None)), (1, slice(0, 2, None)), (1, slice(2, 3, None))]
    """
    if math.prod(shape) == 0:
        return
    if not shape:
        yield ()
        return
    axis = next(k for k in range(len(shape)) if math.prod(shape[k + 1 :]) <= size)
    rows = max(1, size // math.prod(shape[axis + 1 :]))
    for outer in np.ndindex(*shape[:axis]):
        for start in range(0, shape[axis], rows):
            yield (*outer, slice(start, min(start + rows, shape[axis])))
