"""The range of a chart without outliers, as `tbq plot` chooses it, from the columns of its curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tbq.plot.ranges import usual_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.roles import Better
    from tbq.table.pixels import Columns

    Floats = NDArray[np.float64]

_COMPARED = 300  # curves from which the range is computed; others extend it if they end near it
_BOTH = 100  # curves; with fewer, the range is computed for both kinds of axis
_COARSE = 100  # columns of a curve; more would only take longer


def usual(columns: Columns, log: bool, better: Better | None) -> dict[str, list[float]]:
    """The range on a linear and on a log axis; for many curves, only on the requested one."""
    if not columns.min.size:
        return {}
    kinds = (False, True) if len(columns.min) <= _BOTH else (log,)
    ranges = {"log" if kind else "linear": _usual(columns, kind, better) for kind in kinds}
    return {name: list(each) for name, each in ranges.items() if each is not None}


def far_outside(columns: Columns, limits: dict[str, list[float]]) -> list[bool]:
    """Whether each curve ends outside the range, by more than the range's height: its run diverged."""
    if not columns.last.size or not limits:
        return [False] * len(columns.last)
    low, high = limits.get("linear") or limits["log"]
    known = ~np.isnan(columns.last)
    ends = known.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    last = columns.last[np.arange(len(ends)), ends]
    # Halves, because the height of the range may be infinite.
    far: list[bool] = (np.abs(last / 2 - (low / 4 + high / 4)) > 1.5 * (high / 2 - low / 2)).tolist()
    return far


def _usual(columns: Columns, log: bool, better: Better | None) -> tuple[float, float] | None:
    every = len(columns.min) // _COMPARED + 1
    found = usual_range(_curves(columns, every, log), log, better)
    if found is None or every == 1:
        return found
    low, high = found
    # Logarithms cannot overflow, products can.
    reach = np.log(high) - np.log(low) if log else high / 2 - low / 2
    bottom, top = (low / np.exp(reach), high * np.exp(reach)) if log else (low - 2 * reach, high + 2 * reach)
    ends = _shown(np.fmin.reduce(columns.min, axis=1), log), np.fmax.reduce(columns.max, axis=1)
    least, most = (each[(each >= bottom) & (each <= top)] for each in ends)
    return min(low, float(least.min(initial=low))), max(high, float(most.max(initial=high)))


def _curves(columns: Columns, every: int, log: bool) -> list[Floats]:
    """Each curve in few values in the order of x: the rule looks where a curve begins."""
    first, least, most = (_shown(part[::every], log) for part in (columns.first, columns.min, columns.max))
    starts = np.arange(0, least.shape[1], max(least.shape[1] // _COARSE, 1))
    parts = [
        first[:, starts],
        np.fmin.reduceat(least, starts, axis=1),
        np.fmax.reduceat(most, starts, axis=1),
    ]
    values: Floats = np.stack(parts, axis=2)
    return list(values.reshape(len(values), -1))


def _shown(values: Floats, log: bool) -> Floats:
    return np.where(values > 0, values, np.nan) if log else values
