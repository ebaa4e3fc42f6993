"""Another tag on the x axis: its value at a point's step, interpolated between the steps around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


def axis_of(steps: Ints, values: Floats) -> tuple[Ints, Floats]:
    """A series as an axis: its finite values by step; of two values at one step the last counts.

    >>> [part.tolist() for part in axis_of(np.array([0, 2, 2, 4]), np.array([0.0, 1, 2, np.nan]))]
    [[0, 2], [0.0, 2.0]]
    """
    finite = np.isfinite(values)
    steps, values = steps[finite], values[finite]
    unique, last = np.unique(steps[::-1], return_index=True)
    return unique, values[::-1][last]


def along(steps: Ints, axis: tuple[Ints, Floats]) -> Floats:
    """The x of points at these steps; NaN before the first and after the last value of the axis.

    >>> along(np.array([1, 3]), (np.array([0, 2]), np.array([0.0, 2.0]))).tolist()
    [1.0, nan]
    """
    if not len(axis[0]):
        return np.full(len(steps), np.nan)
    return np.asarray(np.interp(steps, *axis, left=np.nan, right=np.nan), np.float64)
