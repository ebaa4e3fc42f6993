"""The range of a chart without outliers, as `tbq plot` chooses it, from the columns of its curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tbq.plot.ranges import usual_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.table.pixels import Columns

    Floats = NDArray[np.float64]

_COMPARED = 500  # curves from which the range is computed; others extend it if they end near it
_BOTH = 200  # curves; with fewer, the range is computed for both kinds of axis


def usual(columns: Columns, log: bool) -> dict[str, list[float]]:
    """The range on a linear and on a log axis; for many curves, only on the requested one."""
    kinds = (False, True) if len(columns.min) <= _BOTH else (log,)
    ranges = {"log" if kind else "linear": _usual(columns, kind) for kind in kinds}
    return {name: list(each) for name, each in ranges.items() if each is not None}


def _usual(columns: Columns, log: bool) -> tuple[float, float] | None:
    every = len(columns.min) // _COMPARED + 1
    # In the order of x: the rule looks where a curve begins.
    some = np.stack([part[::every] for part in (columns.first, columns.min, columns.max)], axis=2)
    curves = [curve if not log else np.where(curve > 0, curve, np.nan) for curve in some.reshape(len(some), some.shape[1] * 3)]
    found = usual_range(curves, log)
    if found is None or every == 1:
        return found
    low, high = found
    bottom, top = (low * low / high, high * high / low) if log else (2 * low - high, 2 * high - low)
    least, most = columns.min, columns.max
    near = [each[(each >= bottom) & (each <= top)] for each in (least, most)]
    return min(low, float(near[0].min(initial=low))), max(high, float(near[1].max(initial=high)))
