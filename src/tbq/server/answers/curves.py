"""Curves as columns of pixels, each with the first, last, smallest and largest value of its points."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tbq.errors import UsageError
from tbq.roles import better
from tbq.server.answers.groups import BANDS, grouped, lines
from tbq.server.answers.packed_curves import pack
from tbq.server.answers.points import AXES, axis, having, points_along, smooth_values, weight
from tbq.server.answers.usual import far_outside, usual
from tbq.server.http.encoding import Answer, frame
from tbq.table.pixels import Columns, columns_of, grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

    Floats = NDArray[np.float64]

WIDEST = 4096
_PLAIN = 125_000  # columns of all curves together; more are packed
_MOST_RAW = 300  # series; with more, raw lines under smoothed ones are unreadable
_COARSE = 200  # columns of the curves behind means, for the range of the chart
_KEPT = 12_000_000  # bytes of answers, for several pages and for zooming back
LOGS = ("", "0", "1", "y", "x", "xy")


class CurveRequest(NamedTuple):
    """The checked parameters of a request for curves."""

    tag: str
    x: str
    low: float | None
    high: float | None
    width: int
    smooth: float
    log_x: bool
    log_y: bool


class Made(NamedTuple):
    """Curves on one grid, series × width."""

    low: float
    high: float
    columns: Columns
    raw: Columns | None
    broken: Sequence[float]


def curves(log: LiveLog, params: Params) -> Answer:
    """The curves of one tag: one per run, or the mean of each group with its band."""
    key = params.key, log.version
    return log.cache.of(
        "curves", key, lambda: _curves(log, params), weight=lambda a: len(a.body), limit=_KEPT
    )


def _curves(log: LiveLog, params: Params) -> Answer:
    logs = params.choice("log", LOGS)
    asked = CurveRequest(
        params.text("tag"), axis(params), params.number("low"), params.number("high"),
        params.whole("width", 800, 1, WIDEST), weight(params), "x" in logs, logs == "1" or "y" in logs,
    )  # fmt: skip
    if asked.low is not None and asked.high is not None and asked.low > asked.high:
        raise UsageError(f"low: got {asked.low:g}, want at most high ({asked.high:g})")
    version = log.version
    runs = having(log, asked.tag, params.runs(log))
    by = params.optional("group")
    band = params.choice("band", (("std" if by else "none"), *BANDS))
    names = grouped(log, runs, by) if by else None
    if names is not None:
        runs = [run for run in runs if run in names.of_run]
    if names is not None and band != "none":
        of_group = {name: [run for run in runs if names.of_run[run] == name] for name in names.names}
        return _of_groups(log, asked, of_group, band, version)
    curves = _of_runs(log, asked, runs)
    with log.lock:
        series: list[dict[str, Any]] = [
            {
                "id": log.id_of(run),
                "points": int(count),
                "broken": None if math.isnan(curves.broken[i]) else curves.broken[i],
                "takeovers": _takeovers(log, run, asked),
            }
            for i, (run, count) in enumerate(
                zip(runs, np.isfinite(curves.columns.min).sum(axis=1), strict=True)
            )
        ]
        if names is not None:
            for each, run in zip(series, runs, strict=True):
                each["group"] = names.of_run[run]
    return _frame(
        asked,
        curves,
        {},
        version=version,
        series=series,
        usual=usual(curves.columns, asked.log_y, better(asked.tag)),
    )


def _of_runs(log: LiveLog, asked: CurveRequest, runs: Sequence[str]) -> Made:
    if asked.x in AXES and not asked.log_x:
        return _by_core(log, asked, runs)
    return _by_points(log, asked, runs)


def _by_core(log: LiveLog, asked: CurveRequest, runs: Sequence[str]) -> Made:
    pairs = [(run, asked.tag) for run in runs]
    options: dict[str, Any] = {"x": asked.x, "width": asked.width, "range": _range(log, asked, pairs)}
    curves = log.view.curves(pairs, **options, smooth=asked.smooth)
    raw = None
    if asked.smooth and len(runs) <= _MOST_RAW:
        options["range"] = (curves.low, curves.high)
        plain = log.view.curves(pairs, **options)
        raw = Columns(plain.first, plain.last, plain.min, plain.max)
    columns = Columns(curves.first, curves.last, curves.min, curves.max)
    return Made(curves.low, curves.high, columns, raw, curves.broken.tolist())


def _range(log: LiveLog, asked: CurveRequest, pairs: list[tuple[str, str]]) -> tuple[float, float] | None:
    if asked.low is None and asked.high is None:
        return None
    low, high = asked.low, asked.high
    if low is None or high is None:
        extent = log.view.curves(pairs, x=asked.x, width=1)  # type: ignore[arg-type]
        low, high = extent.low if low is None else low, extent.high if high is None else high
    return low, max(low, high)


def _by_points(log: LiveLog, asked: CurveRequest, runs: Sequence[str]) -> Made:
    """Curves along axes that the core does not have."""
    series = [points_along(log, run, asked.tag, asked.x) for run in runs]
    xs = [np.where(each.x > 0, each.x, np.nan) if asked.log_x else each.x for each in series]
    low, high = _extent(asked, xs)
    columns: list[Columns] = []
    raw: list[Columns] = []
    broken: list[float] = []
    for each, x in zip(series, xs, strict=True):
        column = grid(x, low, high, asked.width, asked.log_x)
        value = smooth_values(each.values, asked.smooth) if asked.smooth else each.values
        columns.append(columns_of(column, value, asked.width))
        if asked.smooth and len(runs) <= _MOST_RAW:
            raw.append(columns_of(column, each.values, asked.width))
        odd = np.flatnonzero((column >= 0) & ~np.isfinite(each.values))
        broken.append(float(x[odd[0]]) if len(odd) else math.nan)
    return Made(
        low, high, _stacked(columns, asked.width), _stacked(raw, asked.width) if raw else None, broken
    )


def _of_groups(
    log: LiveLog, asked: CurveRequest, of_group: dict[str, list[str]], band: str, version: int
) -> Answer:
    members = [run for runs in of_group.values() for run in runs]
    coarse = asked._replace(width=min(asked.width, _COARSE))
    if asked.x in AXES and not asked.log_x:
        of_members = _by_core(log, coarse, members)
        low, high = of_members.low, of_members.high
    else:  # the members by their steps: the core does not have this axis
        of_members = _by_core(log, coarse._replace(x="step", low=None, high=None), members)
        low, high = _extent_of_groups(log, asked, of_group, band)
    odd = {run for run, at in zip(members, of_members.broken, strict=True) if not math.isnan(at)}
    columns: list[Columns] = []
    lower: list[Floats] = []
    upper: list[Floats] = []
    series = []
    for name, line in lines(log, asked.tag, of_group, asked.x, asked.smooth, band):
        x = np.where(line.x > 0, line.x, np.nan) if asked.log_x else line.x
        column = grid(x, low, high, asked.width, asked.log_x)
        middle, bottom, top = line.drawn(band)
        columns.append(columns_of(column, middle, asked.width))
        lower.append(columns_of(column, bottom, asked.width).min)
        upper.append(columns_of(column, top, asked.width).max)
        count = line.moments.count[line.moments.count > 0]
        series.append(
            {
                "group": name,
                "ids": [log.id_of(run) for run in of_group[name]],
                "points": int(np.isfinite(columns[-1].min).sum()),
                "n": [int(count.min()), int(count.max())] if len(count) else [0, 0],
                "not_finite": sum(run in odd for run in of_group[name]),
                "broken": None,
                "takeovers": [],
            }
        )
    bands = {} if band == "none" else {"lower": np.array(lower), "upper": np.array(upper)}
    curves = Made(low, high, _stacked(columns, asked.width), None, [])
    limits = usual(of_members.columns, asked.log_y, better(asked.tag))
    far = {run for run, out in zip(members, far_outside(of_members.columns, limits), strict=True) if out}
    for each, runs in zip(series, of_group.values(), strict=True):
        each["diverged"] = sum(run in far - odd for run in runs)
    return _frame(asked, curves, bands, version=version, series=series, band=band, usual=limits)


def _extent_of_groups(
    log: LiveLog, asked: CurveRequest, of_group: dict[str, list[str]], band: str
) -> tuple[float, float]:
    """The ends of the axis, without the statistics of all groups in memory at once."""
    ends = []
    for _, line in lines(log, asked.tag, of_group, asked.x, asked.smooth, band):
        x = np.where(line.x > 0, line.x, np.nan) if asked.log_x else line.x
        finite = x[np.isfinite(x)]
        ends.append(finite[[0, -1]] if len(finite) else finite)
    return _extent(asked, ends)


def _extent(asked: CurveRequest, xs: Sequence[Floats]) -> tuple[float, float]:
    finite = [each[np.isfinite(each)] for each in xs]
    ends = [(float(each.min()), float(each.max())) for each in finite if len(each)]
    low = min((end[0] for end in ends), default=0.0) if asked.low is None else asked.low
    high = max((end[1] for end in ends), default=0.0) if asked.high is None else asked.high
    return low, max(low, high)


def _stacked(parts: Sequence[Columns], width: int) -> Columns:
    if not parts:
        return Columns(*(np.zeros((0, width)) for _ in range(4)))
    return Columns(*(np.array([part[i] for part in parts]) for i in range(4)))


def _takeovers(log: LiveLog, run: str, asked: CurveRequest) -> list[float]:
    """x of the first row of each later session."""
    takeovers = log.index.takeovers(run, asked.tag)
    if asked.x == "step":
        return [float(step) for step, _ in takeovers]
    if asked.x == "wall":
        return [wall for _, wall in takeovers]
    if asked.x == "relative":
        began = log.follower.reader.began.get(run, 0.0)
        return [wall - began for _, wall in takeovers]
    return []


def _frame(asked: CurveRequest, curves: Made, bands: dict[str, Any], **facts: Any) -> Answer:
    first, last, least, largest = curves.columns
    about = {
        "tag": asked.tag, "x": asked.x, "low": curves.low, "high": curves.high, "width": asked.width,
        "smooth": asked.smooth, "raw": curves.raw is not None, **facts,
    }  # fmt: skip
    columns: dict[str, Any] = {}
    if least.size > _PLAIN:
        columns, about["packed"] = pack(first, last, least, largest, asked.log_y)
    else:
        columns = {"first": first, "last": last, "min": least, "max": largest}
    if curves.raw is not None:
        columns |= {"raw_min": curves.raw.min, "raw_max": curves.raw.max}
    columns |= bands
    plain = {name: narrow(column) if column.dtype.kind == "f" else column for name, column in columns.items()}
    return replace(frame(plain, **about), gzip=zlib.Z_HUFFMAN_ONLY if "packed" in about else None)


def narrow(column: Floats) -> NDArray[Any]:
    """Values as 32-bit floats if that is exact, as in most logs; otherwise as 64-bit floats.

    >>> narrow(np.array([0.5, np.nan])).dtype, narrow(np.array([1.7e9 + 0.25])).dtype, narrow(np.array([1e39])).dtype
    (dtype('float32'), dtype('float64'), dtype('float64'))
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        small = column.astype("<f4")
    exact = np.array_equal(small, column, equal_nan=True)
    return (small if exact else column.astype("<f8")).ravel()
