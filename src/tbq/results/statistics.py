"""Statistics of parameters, block by block: memory use does not depend on the size of a parameter."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class Statistics:
    """Running statistics: mean, std, min, max and norm of the finite elements, counts of the rest.

    >>> total = Statistics()
    >>> total.add(np.array([3.0, -4.0, 0.0, np.nan]))
    >>> total.norm, total.min, total.zeros, total.nonfinite
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
        """Add a flat block."""
        if block.dtype.kind == "c":
            self.complex = True
            self._count(np.abs(block.astype(np.complex128)))
            return
        values = block.astype(np.float64)
        self._count(values)

    def _count(self, values: NDArray[np.float64]) -> None:
        # The sum is finite only if all values are: infinities and NaN persist in it.
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
            # Combine two sets of known mean and spread (Chan, Golub, LeVeque).
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
        """The columns of the `weights` table. A complex parameter has a norm but no mean, min or max."""
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
    total = Statistics()
    for block in blocks:
        total.add(block)
    return total


def _power(values: NDArray[np.float64]) -> float:
    # Not np.dot: BLAS would start its threads for each block, which takes longer than the sum.
    return float(np.einsum("i,i", values, values))
