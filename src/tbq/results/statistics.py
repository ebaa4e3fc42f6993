"""Statistics of parameters, block by block: a parameter's size never shows in the memory used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


@dataclass
class Statistics:
    """Running statistics: mean, std, min, max and norm of the finite elements, counts of the rest.

    >>> found = Statistics()
    >>> found.add(np.array([3.0, -4.0, 0.0, np.nan]))
    >>> found.norm, found.min, found.zeros, found.nonfinite
    (5.0, -4.0, 1, 1)
    """

    finite: int = 0
    mean: float = 0.0
    squares: float = 0.0  # sum of squared distances from the mean
    power: float = 0.0  # sum of squares
    min: float | None = None
    max: float | None = None
    zeros: int = 0
    nonfinite: int = 0
    complex: bool = False

    def add(self, block: NDArray[Any]) -> None:
        """Take in one more flat block."""
        if block.dtype.kind == "c":
            self.complex = True
            self._count(np.abs(block.astype(np.complex128)))
            return
        values = block.astype(np.float64)
        self._count(values)

    def _count(self, values: NDArray[np.float64]) -> None:
        # One sum tells whether all are finite: an infinity or a NaN never leaves it.
        with np.errstate(all="ignore"):
            total = float(values.sum())
        if not math.isfinite(total):
            good = np.isfinite(values)
            self.nonfinite += values.size - int(np.count_nonzero(good))
            values = values[good]
            with np.errstate(all="ignore"):
                total = float(values.sum())
        self.zeros += values.size - int(np.count_nonzero(values))
        if not values.size:
            return
        with np.errstate(all="ignore"):
            low, high = float(values.min()), float(values.max())
            self.min = low if self.min is None else min(self.min, low)
            self.max = high if self.max is None else max(self.max, high)
            self.power += _power(values)
            mean = total / values.size if math.isfinite(total) else float((values / values.size).sum())
            values -= mean
            squares = _power(values)
            # Two sets of known mean and spread, joined (Chan, Golub, LeVeque).
            count = self.finite + values.size
            distance = mean - self.mean
            if self.finite:
                squares += distance * distance * self.finite * values.size / count
            self.squares += squares
            self.mean += distance * (values.size / count)
            self.finite = count

    @property
    def std(self) -> float | None:
        return math.sqrt(self.squares / self.finite) if self.finite else None

    @property
    def norm(self) -> float:
        return math.sqrt(self.power)

    def row(self) -> dict[str, float | int | None]:
        """The columns of the `weights` table. A complex parameter has a norm but no mean and no order."""
        plain = self.finite > 0 and not self.complex
        return {
            "mean": self.mean if plain else None,
            "std": self.std if plain else None,
            "min": self.min if plain else None,
            "max": self.max if plain else None,
            "norm": self.norm,
            "zeros": self.zeros,
            "nonfinite": self.nonfinite,
        }


def statistics(blocks: Iterable[NDArray[Any]]) -> Statistics:
    """Statistics over all blocks of a parameter."""
    found = Statistics()
    for block in blocks:
        found.add(block)
    return found


def _power(values: NDArray[np.float64]) -> float:
    # Not np.dot: BLAS would wake its threads for each block, which costs more than the sum.
    return float(np.einsum("i,i", values, values))
