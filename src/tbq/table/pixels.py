"""Curves reduced to pixels: the first, last, smallest and largest point of each column of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tbq.columns.codes import starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Columns(NamedTuple):
    """The first, last, smallest and largest value of each column of a picture; NaN for an empty column."""

    first: Floats
    last: Floats
    min: Floats
    max: Floats


def grid(x: Floats, low: float, high: float, width: int, log: bool = False) -> Ints:
    """The column of each x on an axis from low to high; -1 outside the axis.

    >>> grid(np.array([0.0, 4.9, 10.0, 11.0, np.nan]), 0, 10, 2).tolist()
    [0, 0, 1, -1, -1]
    """
    inside = (x >= low) & (x <= high)  # false for NaN
    if log:
        with np.errstate(all="ignore"):
            x, low, high = np.log10(x), float(np.log10(low)), float(np.log10(high))
    half = high / 2 - low / 2  # halves, because the span of two finite numbers may be infinite
    with np.errstate(all="ignore"):
        share = (x / 2 - low / 2) / half if half > 0 else np.zeros(len(x))
        column = np.minimum(share * width, width - 1)
    return np.where(inside & np.isfinite(column), column, -1).astype(np.int64)


def kept(column: Ints, values: Floats, most: int) -> Ints:
    """The rows that a picture needs, in order: the first, last, smallest and largest row of each stretch in a column.

    A stretch ends where the column changes, or where values start or stop being finite. Of a non-finite stretch only
    the first row stays, as the gap. Rows outside the axis (column -1) are gaps too. With at most `most` rows, all
    stay.

    >>> kept(np.zeros(6, np.int64), np.array([1.0, 5, 2, 0, 3, 2]), 4).tolist()
    [0, 1, 3, 5]
    """
    if len(values) <= most:
        return np.arange(len(values))
    place = np.where(np.isfinite(values), column, -1)
    start = starts_of(place)
    end = np.append(start[1:], len(values)) - 1
    solid = place[start] >= 0
    safe = np.where(place >= 0, values, 0.0)
    parts = [start, end[solid]]
    stretch = np.repeat(np.arange(len(start)), end - start + 1)
    for reduce in (np.minimum, np.maximum):
        extreme = reduce.reduceat(safe, start)
        at = np.flatnonzero((safe == extreme[stretch]) & solid[stretch])
        parts.append(at[starts_of(stretch[at])])
    return np.unique(np.concatenate(parts))


def columns_of(column: Ints, values: Floats, width: int) -> Columns:
    """The values of each of `width` columns, wherever they are in the order of rows; non-finite values do not count.

    >>> columns_of(np.array([0, 0, 0, 1]), np.array([1.0, 5, 2, 9]), 3).max.tolist()
    [5.0, 9.0, nan]
    """
    visible = (column >= 0) & np.isfinite(values)
    column, values = column[visible], values[visible]
    if len(column) and (column[1:] < column[:-1]).any():
        order = np.argsort(column, kind="stable")
        column, values = column[order], values[order]
    out = [np.full(width, np.nan) for _ in range(4)]
    if len(column):
        start = starts_of(column)
        end = np.append(start[1:], len(column)) - 1
        at = column[start]
        out[0][at], out[1][at] = values[start], values[end]
        out[2][at], out[3][at] = np.minimum.reduceat(values, start), np.maximum.reduceat(values, start)
    return Columns(*out)


def envelope(column: Ints, low: Floats, high: Floats, most: int) -> tuple[Ints, Floats, Floats]:
    """A band reduced to pixels: the rows to draw it at, and the smallest low and largest high of their stretches.

    Stretches are those of `kept`; their first and last rows get the same values, so that no extreme is lost.

    >>> rows, low, high = envelope(np.zeros(4, np.int64), np.array([1.0, 0, 1, 1]), np.array([2.0, 2, 5, 2]), 2)
    >>> rows.tolist(), low.tolist(), high.tolist()
    ([0, 3], [0.0, 0.0], [5.0, 5.0])
    """
    if len(low) <= most:
        return np.arange(len(low)), low, high
    place = np.where(np.isfinite(low) & np.isfinite(high), column, -1)
    start = starts_of(place)
    end = np.append(start[1:], len(low)) - 1
    least, largest = np.minimum.reduceat(low, start), np.maximum.reduceat(high, start)
    gap = place[start] < 0
    least[gap] = largest[gap] = np.nan
    rows = np.stack([start, end], axis=1).ravel()
    double = np.repeat(start != end, 2)
    double[::2] = True
    return rows[double], np.repeat(least, 2)[double], np.repeat(largest, 2)[double]
