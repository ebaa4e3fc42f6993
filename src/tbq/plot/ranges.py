"""The ranges of a chart's axes, and the values within them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq import roles
from tbq.errors import SelectionError, UsageError, warn
from tbq.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.plot.lines import Floats, Line, Panel
    from tbq.plot.options import PlotOptions
    from tbq.roles import Better

_LARGEST = 4e307
_LEAST = 5e-324
_LARGEST_POWER = 308.25  # of ten, in 64 bits
_BULKS, _NEAR = 10.0, 4.0  # see usual_range
# Whether the axis is logarithmic → how far a curve may go, in cores: if many curves do, and towards better values.
_FAR = {False: (20.0, 1000.0), True: (_NEAR, 20.0)}
_SAMPLED = 4096  # values of a curve that quantiles are computed from


def on_axis(x: NDArray[Any]) -> Floats:
    """x limited to a range that an axis can show: no span is infinite."""
    places: Floats = np.asarray(x, np.float64)
    if not len(places) or (places.min() >= -_LARGEST and places.max() <= _LARGEST):
        return places
    return np.clip(places, -_LARGEST, _LARGEST)


def x_range(panel: Panel) -> tuple[float, float]:
    panel = panel.undivided or panel
    ends = [(float(x.min()), float(x.max())) for line in [*panel.lines, *panel.members]
            if len(x := line.x[np.isfinite(line.x)])]  # fmt: skip
    if not ends:
        raise SelectionError(f"nothing to draw of {panel.tag}: no point has a place on the x axis")
    return min(low for low, _ in ends), max(high for _, high in ends)


def drawn_range(panel: Panel, options: PlotOptions) -> tuple[float, float]:
    """From the smallest to the largest drawn value, without outliers."""
    panel = panel.undivided or panel
    parts = [shown(line, options) for line in panel.lines]
    if options.outliers:
        every = np.concatenate(parts)
        every = every[np.isfinite(every)]
        q = options.outliers
        low, high = np.quantile(every, [q, 1 - q]).tolist() if len(every) else (np.nan, np.nan)
    else:
        parts += [positive(line.raw, options.log_y) for line in panel.lines if line.raw is not None]
        parts += [shown(member, options) for member in panel.members]
        low, high = _extremes(parts)
        usual = None
        if options.outliers is None:
            runs = [positive(run, options.log_y) for run in panel.runs] or parts
            usual = usual_range(runs, options.log_y, roles.better(panel.tag))
            low, high = _within((low, high), usual)
        low, high = _extremes([np.array([low, high]), *_ends(panel, low, high, usual, options)])
    if np.isnan(low):
        return (0.1, 1.0) if options.log_y else (0.0, 1.0)
    return low, high


def y_range(panel: Panel, options: PlotOptions) -> tuple[float, float]:
    """The limits of the axis: the user's, or what is drawn with a margin."""
    low, high = spaced(*drawn_range(panel, options), options.log_y, 0.04)
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


def _extremes(parts: Sequence[Floats]) -> tuple[float, float]:
    ends = [(float(part.min()), float(part.max())) for each in parts if len(part := each[np.isfinite(each)])]
    return min((low for low, _ in ends), default=np.nan), max((high for _, high in ends), default=np.nan)


def _within(drawn: tuple[float, float], usual: tuple[float, float] | None) -> tuple[float, float]:
    """The part of the drawn range that is usual; all of it if no part is."""
    if usual is None:
        return drawn
    low, high = max(drawn[0], usual[0]), min(drawn[1], usual[1])
    return (low, high) if low <= high else drawn


def usual_range(
    curves: Sequence[Floats], log: bool = False, better: Better | None = None
) -> tuple[float, float] | None:
    """The range of curves without outliers: one diverged run does not flatten the others. None without finite values.

    1. The bulk of a curve is its range from the 5 % to the 95 % quantile; its own range is that of its values at most
       ten bulks away from the bulk. So a spike of a few steps does not count, but the steep start of a loss does.
    2. The core is from the median of the lower ends of the curves' own ranges to the median of their upper ends.
       A curve leaves the range if its own range reaches too far from the core although the curve begins nearer. A
       curve that already begins too far away leaves only if at most a quarter of all curves do. So a run that diverges
       leaves the range, but one of two runs on different levels does not.
    3. Too far is more than four cores away, if few curves go there: at most a quarter of them on the side of worse
       values (see `tbq.roles.better`), or a twentieth if the better side is not known. If more curves go there, too far
       is 20 cores. On the side of better values it is 1,000 cores: the best run of a sweep is not an outlier.
    4. The range covers the own ranges of the curves that stay, and the starts of those that leave, except for starts
       that are farther away than the range is high.

    A bulk or a core counts as at least half of its largest absolute value. On a log axis, it counts as at least half a
    decade above it, and three decades below it: there, values that converge to 0 are not outliers. On a log axis, too
    far is always four cores, but 20 on the side of better values.

    >>> usual_range([np.array([2.0, 1.0, 0.5]), np.array([2.5, 1.0, 1e6])])
    (0.5, 2.5)
    >>> usual_range([np.array([1.0, 1.0]), np.array([1e6, 1e6])])
    (1.0, 1000000.0)
    >>> usual_range([np.array([2.0, 1.0, 0.5]), np.array([1.9, 0.9, 0.4]), np.array([7.0, 50.0, 1e6])])
    (0.4, 2.0)
    >>> failed, learns = np.array([0.1, 0.1, 0.1]), np.array([0.1, 0.5, 0.9])
    >>> usual_range([failed, failed, failed, learns], better="higher")
    (0.1, 0.9)
    >>> usual_range([failed, failed, failed, learns], better="lower")
    (0.1, 0.1)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        known = [np.log10(curve) if log else curve for curve in curves]
    known = [kept for curve in known if len(kept := curve[np.isfinite(curve)])]
    if not known:
        return None
    own = [_own_range(curve, log) for curve in known]
    bottom, top = _limits(own, log, better)
    far = [low < bottom or high > top for low, high in own]
    begins_far = [not bottom <= curve[0] <= top for curve in known]
    few = 4 * sum(out and begins for out, begins in zip(far, begins_far, strict=True)) <= len(known)
    leaves = [out and (few or not begins) for out, begins in zip(far, begins_far, strict=True)]
    shown = [range_of for range_of, gone in zip(own, leaves, strict=True) if not gone] or own
    low, high = min(low for low, _ in shown), max(high for _, high in shown)
    # A curve that leaves the range begins within it, unless even its start would flatten the others.
    nearest, farthest = _around(low, high, 1, log)
    starts = [float(curve[0]) for curve, gone in zip(known, leaves, strict=True) if gone]
    drawn = [low, high, *(start for start in starts if nearest <= start <= farthest)]
    low, high = min(drawn), max(drawn)
    return (10.0**low, 10.0 ** min(high, _LARGEST_POWER)) if log else (low, high)


def _limits(own: Sequence[tuple[float, float]], log: bool, better: Better | None) -> tuple[float, float]:
    """The lowest and the highest value that are not too far from the core of the curves' own ranges."""
    lows, highs = sorted(low for low, _ in own), sorted(high for _, high in own)
    count = len(own)
    core = sorted((lows[count // 2], highs[(count - 1) // 2]))
    near, most, better_most = (_around(core[0], core[1], times, log) for times in (_NEAR, *_FAR[log]))
    beyond = sum(low < near[0] for low in lows), sum(high > near[1] for high in highs)
    limits = []
    for side, of_side in enumerate(("lower", "higher")):
        share = 20 if better is None else 4
        few = share * beyond[side] <= count
        limits.append(better_most[side] if better == of_side else near[side] if few else most[side])
    return limits[0], limits[1]


def _own_range(curve: Floats, log: bool) -> tuple[float, float]:
    ordered = np.sort(curve[:: max(len(curve) // _SAMPLED, 1)])
    begin, end = _quantile(ordered, 0.05), _quantile(ordered, 0.95)
    low, high = float(curve.min()), float(curve.max())
    if begin == end:  # no spread to compare with
        return low, high
    bottom, top = _around(begin, end, _BULKS, log)
    if low < bottom or high > top:
        inside = curve[(curve >= bottom) & (curve <= top)]
        low, high = float(inside.min()), float(inside.max())
    return low, high


def _quantile(ordered: Floats, q: float) -> float:
    """As `np.quantile`, which takes 40 µs for each of hundreds of curves."""
    below, share = divmod(q * (len(ordered) - 1), 1.0)
    low, high = float(ordered[int(below)]), float(ordered[min(int(below) + 1, len(ordered) - 1)])
    return low if low == high else low * (1 - share) + high * share


def _around(low: float, high: float, times: float, log: bool) -> tuple[float, float]:
    half = high / 2 - low / 2  # halves, because the span of two finite numbers may be infinite
    least = max(abs(low), abs(high)) / 4
    below, above = (
        min(max(half, each) * 2 * times, _LARGEST) for each in ((1.5, 0.25) if log else (least, least))
    )
    return low - below, high + above


@dataclass(frozen=True)
class Leaving:
    """Where a line leaves the range: its first place outside, and its farthest value there."""

    line: Line
    x: float
    value: float
    above: bool


def leaving(panel: Panel, limits: tuple[float, float], options: PlotOptions) -> list[Leaving]:
    """The lines, and the runs behind means, that leave the range; none if the user chose the limits."""
    out = []
    for line in [*panel.lines, *panel.members]:
        values = shown(line, options)
        for above, beyond in ((True, values > limits[1]), (False, values < limits[0])):
            if options.ylim[above] is None and options.outliers != 0 and beyond.any():
                far = float(values[beyond].max() if above else values[beyond].min())
                out.append(Leaving(line, float(line.x[int(np.argmax(beyond))]), far, above))
    return out


def leaving_words(gone: Sequence[Leaving]) -> str:
    """The words on a chart that curves leave.

    >>> leaving_words([])
    ''
    """
    means = {each.line.group for each in gone if each.line.count is not None}
    runs = {each.line.name for each in gone if each.line.count is None}
    return left_words(len(means), "group") if means else left_words(len(runs), "run")


def resumed_words(panel: Panel) -> str:
    """The words that explain dotted lines, which mark where later sessions of runs took over."""
    resumed = {line.name for line in panel.lines if np.isfinite(line.takeovers).any()}
    return f"dotted vertical: {counted(len(resumed), 'run')} resumed" if resumed else ""


def left_words(count: int, noun: str) -> str:
    """The same for a number of curves.

    >>> left_words(1, "run"), left_words(2, "run"), left_words(0, "run")
    ('1 run leaves the range', '2 runs leave the range', '')
    """
    return f"{counted(count, noun)} leave{'s' * (count == 1)} the range" if count else ""


def _ends(
    panel: Panel, low: float, high: float, usual: tuple[float, float] | None, options: PlotOptions
) -> list[Floats]:
    """The ends of bands around lines from low to high, as far as they stretch the axis.

    The values of runs count as far as they are usual. A mean minus its spread may be far from all values: it stretches
    the axis by a quarter of its length, not below 0 without values below 0; on a log axis by a factor of 3. Unless
    the user wants all outliers, the band of a line that leaves the range does not count.
    """
    log, full = options.log_y, options.outliers is not None
    least, most = (low / 3, high * 3) if log else (low - (high - low) / 4, high + (high - low) / 4)
    if low >= 0:
        least = max(least, 0.0)
    if options.band in ("minmax", "quantiles") and usual is not None:
        least, most = usual
    ends = []
    for line in panel.lines:
        center = shown(line, options)
        if not full and bool(np.any((center < low) | (center > high))):
            continue
        for end in (line.low, line.high):
            if end is not None:
                part = positive(end, log)
                if not full or (log and options.band in ("std", "sem", "ci95")):
                    part = np.clip(part, least, np.inf if full else most)
                ends.append(part)
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
