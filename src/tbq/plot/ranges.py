"""The ranges of a chart's axes, and the values within them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.errors import SelectionError, UsageError, warn
from tbq.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.plot.lines import Floats, Line, Panel
    from tbq.plot.options import PlotOptions

_LARGEST = 4e307
_LEAST = 5e-324


def on_axis(x: NDArray[Any]) -> Floats:
    """x limited to a range that an axis can show: no span is infinite."""
    places: Floats = np.asarray(x, np.float64)
    if not len(places) or (places.min() >= -_LARGEST and places.max() <= _LARGEST):
        return places
    return np.clip(places, -_LARGEST, _LARGEST)


def x_range(panel: Panel) -> tuple[float, float]:
    ends = [(float(x.min()), float(x.max())) for line in [*panel.lines, *panel.members]
            if len(x := line.x[np.isfinite(line.x)])]  # fmt: skip
    if not ends:
        raise SelectionError(f"nothing to draw of {panel.tag}: no point has a place on the x axis")
    return min(low for low, _ in ends), max(high for _, high in ends)


def y_range(panel: Panel, values: Sequence[Floats], options: PlotOptions) -> tuple[float, float]:
    """From the smallest to the largest drawn value, or their quantiles, with a margin."""
    parts = list(values)
    if options.outliers is None:
        parts += [positive(line.raw, options.log_y) for line in panel.lines if line.raw is not None]
        parts += [shown(member, options) for member in panel.members]
        parts += _ends(panel, parts, options)
        ends = [
            (float(part.min()), float(part.max())) for each in parts if len(part := each[np.isfinite(each)])
        ]
        low, high = (
            min((low for low, _ in ends), default=np.nan),
            max((high for _, high in ends), default=np.nan),
        )
    else:
        every = np.concatenate(parts)
        every = every[np.isfinite(every)]
        q = options.outliers
        low, high = np.quantile(every, [q, 1 - q]).tolist() if len(every) else (np.nan, np.nan)
    if np.isnan(low):
        low, high = (0.1, 1.0) if options.log_y else (0.0, 1.0)
    low, high = spaced(low, high, options.log_y, 0.04)
    bottom, top = options.ylim
    wrong = [end for end in options.ylim if end is not None and end <= 0]
    if options.log_y and wrong:
        raise UsageError(
            f"ylim: {wrong[0]:g} cannot be on a log axis", hint="want an end above 0, or omit log_y, --log-y"
        )
    low, high = low if bottom is None else bottom, high if top is None else top
    if not low < high:  # all values are beyond the end that the user set
        low, high = (low, spaced(low, low, options.log_y, 0.04)[1]) if top is None else (
            spaced(high, high, options.log_y, 0.04)[0], high)  # fmt: skip
    return low, high


def _ends(panel: Panel, parts: Sequence[Floats], options: PlotOptions) -> list[Floats]:
    """The ends of bands. On a log axis, a mean minus its spread may come arbitrarily near to 0: ends below a third of
    the smallest value do not stretch the axis."""
    ends = [positive(end, options.log_y) for line in panel.lines for end in (line.low, line.high)
            if end is not None]  # fmt: skip
    if options.log_y and options.band in ("std", "sem", "ci95"):
        least = min((float(np.nanmin(part)) for part in parts if np.isfinite(part).any()), default=np.nan)
        ends = [np.fmax(end, np.where(np.isnan(end), np.nan, least / 3)) for end in ends]
    return ends


def spaced(low: float, high: float, log: bool, share: float) -> tuple[float, float]:
    if log:
        if low == high:
            return max(low / 3, _LEAST), min(high * 3, 1e308)
        factor = (high / low) ** share if high / low < np.inf else 10.0
        return max(low / factor, _LEAST), min(high * factor, 1e308)
    if low == high:
        space = abs(low) * 0.1 or 1.0
        return low - space, high + space
    space = (high - low) * share
    return low - space, high + space


def positive(values: Floats, log: bool) -> Floats:
    """The values that an axis can show: above 0 on a log axis, and small enough for a finite span."""
    values = np.where(np.isfinite(values), np.clip(values, -_LARGEST, _LARGEST), np.nan)
    return np.where(values > 0, values, np.nan) if log else values


def shown(line: Line, options: PlotOptions) -> Floats:
    """The values that the axis can show; the rest becomes NaN, a gap."""
    return positive(line.y, options.log_y)


def tell_gaps(panel: Panel, values: Sequence[Floats], options: PlotOptions) -> None:
    finite = sum(int(np.isfinite(line.y).sum()) for line in panel.lines)
    shown = sum(int(np.isfinite(each).sum()) for each in values)
    if shown == 0 and finite:
        raise SelectionError(
            f"nothing to draw of {panel.tag}: a log axis needs values above 0",
            hint="omit log_y, --log-y",
        )
    if shown < finite and options.log_y:
        warn(f"{panel.tag}: {counted(finite - shown, 'value')} ≤ 0 left out: a log axis cannot show them")
    if not finite:
        warn(f"{panel.tag}: no value is finite; marks show where")
