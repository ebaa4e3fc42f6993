"""The data of a chart of scalars: panels of lines with their bands, before anything is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of, numbers, starts_of
from tbq.columns.grouped import GroupedRows
from tbq.columns.relative import relative_times
from tbq.errors import SelectionError, warn
from tbq.following.view import AXES
from tbq.plot.along import along, axis_of
from tbq.plot.groups import Groups
from tbq.plot.ranges import on_axis
from tbq.query.reduce import reduce
from tbq.table.smooth import smoothed_values
from tbq.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.plot.options import PlotOptions

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Takeovers = Mapping[tuple[str, str], Sequence[tuple[int, float]]]

# The statistics that `reduce` computes: the two ends of a band, or its half-width.
_ENDS = {"minmax": ("min", "max"), "quantiles": ("q25", "q75")}


@dataclass(frozen=True)
class Line:
    """One curve: non-finite values are gaps; `low` and `high` are the ends of its band."""

    name: str
    colour: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    raw: Floats | None = None  # before smoothing
    count: tuple[int, int] | None = None  # the fewest and the most runs at a step
    group: str = ""
    takeovers: Sequence[float] = ()  # x where a later session took over
    lost: int = 0  # runs of the group with non-finite values, which its mean leaves out


@dataclass(frozen=True)
class Panel:
    """The lines of one tag, the runs behind each mean, and the runs with non-finite values: a mean leaves NaN out, but
    the chart marks where a run diverged. `runs` are the values of each run, before smoothing."""

    tag: str
    lines: list[Line]
    members: list[Line] = field(default_factory=list)
    broken: list[Line] = field(default_factory=list)
    runs: list[Floats] = field(default_factory=list)
    undivided: Panel | None = None  # the panel that this is a part of, which has its range


@dataclass(frozen=True)
class _CurveRows:
    """The rows of a scalar table by run and tag; `starts` are the first rows of its blocks."""

    run: Ints
    tag: Ints
    runs: list[str]
    tags: list[str]
    step: Ints
    x: Floats | Ints
    value: Floats
    raw: Floats
    starts: Ints

    def blocks(self) -> Iterator[tuple[str, str, slice]]:
        ends = np.append(self.starts, len(self.run))[1:]
        for start, end in zip(self.starts.tolist(), ends.tolist(), strict=True):
            yield self.runs[self.run[start]], self.tags[self.tag[start]], slice(start, end)


def panels(
    table: pa.Table,
    tags: Sequence[str],
    groups: Groups,
    options: PlotOptions,
    began: Mapping[str, float] | None = None,
    takeovers: Takeovers | None = None,
) -> list[Panel]:
    """One panel per tag; the table has their scalars, and those of the tag on the x axis."""
    rows = _with_finite_x(_rows(table, options, began), options.x)
    if options.log_x:
        rows = _positive_x(rows, tags)
    lines: dict[str, list[Line]] = {tag: [] for tag in tags}
    runs: dict[str, list[Floats]] = {tag: [] for tag in tags}
    x_of = _takeover_x(options.x, began or {})
    for run, tag, part in rows.blocks():
        if tag not in lines or run not in groups.of_run:
            continue
        runs[tag].append(rows.raw[part])
        if options.band != "none" and not options.each and np.isfinite(rows.value[part]).all():
            continue
        group = groups.of_run[run]
        lines[tag].append(
            Line(
                run,
                groups.colours[group],
                on_axis(rows.x[part]),
                rows.value[part],
                raw=rows.raw[part] if options.smooth else None,
                group=group,
                takeovers=[x_of(run, *place) for place in (takeovers or {}).get((run, tag), ())],
            )
        )
    place = {name: i for i, name in enumerate(groups.names)}
    for of_tag in lines.values():
        of_tag.sort(key=lambda line: place[line.group])
    if options.band == "none":
        return [
            Panel(tag, of_tag, broken=_broken(of_tag), runs=runs[tag])
            for tag, of_tag in lines.items()
            if of_tag
        ]
    means = _bands(rows, tags, groups, options)
    for tag in tags:
        lost = Counter(line.group for line in _broken(lines[tag]))
        means[tag] = [replace(mean, lost=lost[mean.group]) for mean in means[tag]]
    members = {tag: [replace(line, raw=None, takeovers=()) for line in lines[tag]] for tag in tags}
    return [
        Panel(tag, means[tag], members[tag] if options.each else [], _broken(members[tag]), runs[tag])
        for tag in tags
        if means[tag]
    ]


def _broken(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if not np.isfinite(line.y).all()]


def _rows(table: pa.Table, options: PlotOptions, began: Mapping[str, float] | None) -> _CurveRows:
    rows = GroupedRows.of(table)
    raw = np.ascontiguousarray(rows.value, np.float64)
    value = smoothed_values(raw, rows.starts, options.smooth) if options.smooth else raw
    x: Floats | Ints = rows.step  # converted to floats for drawing
    if options.x in ("relative", "wall"):
        times = table["wall_time"]
        x = numbers(relative_times(times, table["run"], began) if options.x == "relative" else times)
        x = x if rows.order is None else x[rows.order]
    curves = _CurveRows(
        rows.run, rows.tag, rows.run_names, rows.tag_names, rows.step, x, value, raw, rows.starts
    )
    return curves if options.x in AXES else _by_tag(curves, options.x)


def _by_tag(rows: _CurveRows, name: str) -> _CurveRows:
    """The rows with another tag's value as x, interpolated between the steps around each row."""
    axis: dict[str, tuple[Ints, Floats]] = {}
    for run, tag, part in rows.blocks():
        if tag == name:
            axis[run] = axis_of(rows.step[part], rows.raw[part])
    if not axis:
        raise SelectionError(
            f"x: no drawn run has the tag {name!r}", hint="choose other runs with run, --run"
        )
    x = np.full(len(rows.x), np.nan)
    for run, tag, part in rows.blocks():
        if tag != name and run in axis and len(axis[run][0]):
            x[part] = along(rows.step[part], axis[run])
    omitted = np.isnan(x) & (rows.tag != rows.tags.index(name))
    if omitted.any():
        warn(f"{counted(int(omitted.sum()), 'point')} of {len(x) - len(rows.x[rows.tag == rows.tags.index(name)]):,} "
             f"left out: {name} has no values around their steps")  # fmt: skip
    return _only(replace(rows, x=x), ~np.isnan(x))


def _with_finite_x(rows: _CurveRows, name: str) -> _CurveRows:
    """The rows with a finite x."""
    if rows.x.dtype.kind == "i":
        return rows
    finite = np.isfinite(rows.x)
    if finite.all():
        return rows
    omitted = counted(int((~finite).sum()), "point")
    warn(f"{omitted} left out: the {'time' if name in AXES else 'value'} on the x axis is not finite")
    return _only(rows, finite)


def _positive_x(rows: _CurveRows, tags: Sequence[str]) -> _CurveRows:
    drawn = np.isin(rows.tag, [rows.tags.index(tag) for tag in tags if tag in rows.tags])
    keep = (rows.x > 0) & drawn
    if not keep.any():
        raise SelectionError("a log axis needs x above 0, but there is none", hint="omit log_x, --log-x")
    omitted = int((drawn & ~keep).sum())
    if omitted:
        warn(f"{counted(omitted, 'point')} at x ≤ 0 left out: a log axis cannot show them")
    return _only(rows, keep)


def _only(rows: _CurveRows, keep: NDArray[np.bool_]) -> _CurveRows:
    run, tag = rows.run[keep], rows.tag[keep]
    starts = starts_of(run, tag)
    columns: list[Any] = [rows.step, rows.x, rows.value, rows.raw]
    step, x, value, raw = (column[keep] for column in columns)
    return replace(rows, run=run, tag=tag, step=step, x=x, value=value, raw=raw, starts=starts)


def _takeover_x(x: str, began: Mapping[str, float]) -> Callable[[str, int, float], float]:
    def place(run: str, step: int, wall: float) -> float:
        if x == "wall":
            return wall
        return wall - began.get(run, 0.0) if x == "relative" else float(step) if x == "step" else np.nan

    return place


def _bands(
    rows: _CurveRows, tags: Sequence[str], groups: Groups, options: PlotOptions
) -> dict[str, list[Line]]:
    """The mean or median of each group, and its band, computed by `reduce`."""
    ends = _ENDS.get(options.band, (options.band,))
    grouped = _reduced(rows, rows.value, groups, (options.center, *ends))
    if options.x == "step":
        x = numbers(grouped["step"]).astype(np.float64)
    else:
        x = numbers(_reduced(rows, rows.x, groups, ("mean",))["mean"])
    center, *reach = (_floats(grouped[name]) for name in (options.center, *ends))
    low, high = reach if len(reach) == 2 else (center - reach[0], center + reach[0])
    count = numbers(grouped["n"])
    group, group_names = codes_of(grouped["group"])
    tag, tag_names = codes_of(grouped["tag"])
    names, known = group_names.to_pylist(), tag_names.to_pylist()
    lines: dict[str, list[Line]] = {name: [] for name in tags}
    for name in tags:
        for of_group in groups.names:
            if name not in known or of_group not in names:
                continue
            part = np.flatnonzero((tag == known.index(name)) & (group == names.index(of_group)))
            if not len(part):
                continue
            at = slice(int(part[0]), int(part[-1]) + 1)  # reduce returns rows in this order
            some = count[at][count[at] > 0]
            lines[name].append(
                Line(
                    of_group,
                    groups.colours[of_group],
                    on_axis(x[at]),
                    center[at],
                    low[at],
                    high[at],
                    count=(int(some.min()), int(some.max())) if len(some) else (0, 0),
                    group=of_group,
                )
            )
    return lines


def _reduced(rows: _CurveRows, value: Floats | Ints, groups: Groups, stats: Sequence[str]) -> pa.Table:
    labels = (
        pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int32, copy=False)), pa.array(names, pa.string())
        )
        for codes, names in ((rows.run, rows.runs), (rows.tag, rows.tags))
    )
    columns = dict(zip(("run", "tag"), labels, strict=True))
    return reduce(
        pa.table({**columns, "step": pa.array(rows.step), "value": pa.array(value, from_pandas=False)}),
        groups.of_run,
        stats,
    )


def _floats(column: pa.ChunkedArray) -> Floats:
    """A column as floats, with NaN for nulls."""
    return np.asarray(column.to_numpy(), np.float64)
