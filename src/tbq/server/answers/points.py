"""The points of series: along any axis, the point nearest to x, all points as CSV."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tbq._core import float_text
from tbq.errors import UsageError
from tbq.following.listing import Points
from tbq.plot.along import along, axis_of
from tbq.server.http.encoding import CSV, Answer, json_answer
from tbq.server.http.params import NotFoundError, TooMuchError
from tbq.table.smooth import smoothed_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

AXES = ("step", "relative", "wall")
TAG = "tag:"
_MOST_HOVERED = 100
_MOST_ROWS = 5_000_000
_AT_ONCE = 20_000  # rows of a CSV file that are formatted at once
_OF_ROW = 64  # bytes of memory per point while a file is sent


class PointsAlong(NamedTuple):
    """The points of one series, with their position on an axis."""

    x: NDArray[np.float64]
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]


def axis(params: Params, name: str = "x") -> str:
    """step, relative, wall, or tag:NAME."""
    x = params.text(name, "") or "step"
    if x not in AXES and not (x.startswith(TAG) and len(x) > len(TAG)):
        raise UsageError(f"{name}: got {x[:100]!r}, want one of {', '.join(AXES)}, or tag:NAME")
    return x


def weight(params: Params) -> float:
    """The weight of smoothing."""
    smooth = params.number("smooth", 0.0) or 0.0
    if not 0 <= smooth <= 1:
        raise UsageError(f"smooth: got {smooth:g}, want a number from 0 to 1")
    return smooth


def having(log: LiveLog, tag: str, runs: Sequence[str]) -> list[str]:
    """The runs with scalars of this tag; an error if no run of the log ever had the tag."""
    with log.lock:
        having = log.index.having("scalars", tag, runs)
        if not having and log.index.code(tag) < 0:
            raise NotFoundError(f"no run has the tag {tag[:200]!r}")
    return having


def points_along(log: LiveLog, run: str, tag: str, x: str) -> PointsAlong:
    """All points of a series, along an axis."""
    steps, wall_times, values = log.listing.points(run, tag)
    if x == "step":
        return PointsAlong(steps.astype(np.float64), steps, wall_times, values)
    if x == "wall":
        return PointsAlong(wall_times, steps, wall_times, values)
    if x == "relative":
        return PointsAlong(wall_times - log.follower.reader.began.get(run, 0.0), steps, wall_times, values)
    other = log.listing.points(run, x.removeprefix(TAG))
    return PointsAlong(along(steps, axis_of(other.steps, other.values)), steps, wall_times, values)


def smooth_values(values: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    """One series smoothed."""
    return smoothed_values(np.ascontiguousarray(values), np.zeros(min(1, len(values)), np.int64), by)


def nearest(log: LiveLog, params: Params) -> Answer:
    """The exact point nearest to x, of each run."""
    tag, x = params.text("tag"), axis(params, "axis")
    at = params.number("x")
    if at is None:
        raise UsageError("the parameter x is missing")
    runs = having(log, tag, params.runs(log))
    if len(runs) > _MOST_HOVERED:
        raise TooMuchError(f"{len(runs):,} runs, want at most {_MOST_HOVERED}", hint="name some: runs=0,7")
    by = weight(params)
    points = []
    for run in runs:
        point = _nearest(points_along(log, run, tag, x), at, by)
        if point is not None:
            points.append({"id": log.id_of(run), **point})
    return json_answer({"version": log.version, "tag": tag, "points": points})


def _nearest(series: PointsAlong, at: float, by: float) -> dict[str, Any] | None:
    if not len(series.x):
        return None
    with np.errstate(all="ignore"):
        distance = np.abs(series.x - at)
    if np.isnan(distance).all():
        return None
    place = len(distance) - 1 - int(np.nanargmin(distance[::-1]))  # the last of several points at one x
    value = float(series.values[place])
    point: dict[str, Any] = {
        "x": float(series.x[place]),
        "step": int(series.steps[place]),
        "wall_time": float(series.wall_times[place]),
        "value": value,
        "text": float_text(value, True) if math.isfinite(value) else str(value),
    }
    if by:
        point["smoothed"] = float(smooth_values(series.values, by)[place])
    return point


def table(log: LiveLog, tag: str, runs: Sequence[str]) -> pa.Table:
    """The points of a tag as a table of scalars."""
    return _table(runs, tag, [log.listing.points(run, tag) for run in runs])


def _table(runs: Sequence[str], tag: str, lists: Sequence[Points]) -> pa.Table:
    sizes = [len(points.steps) for points in lists]
    codes = np.repeat(np.arange(len(lists), dtype=np.int32), sizes)

    def joined(arrays: list[NDArray[Any]], kind: Any) -> pa.Array:
        return pa.array(np.concatenate(arrays) if arrays else np.zeros(0, kind), from_pandas=False)

    return pa.table(
        {
            "run": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(runs), pa.string())),
            "tag": pa.DictionaryArray.from_arrays(
                pa.array(np.zeros(len(codes), np.int32)), pa.array([tag], pa.string())
            ),
            "step": joined([points.steps for points in lists], np.int64),
            "wall_time": joined([points.wall_times for points in lists], np.float64),
            "value": joined([points.values for points in lists], np.float64),
        }
    )


def points(log: LiveLog, params: Params) -> Answer:
    """All points of a tag, as a file."""
    tag = params.text("tag")
    runs = having(log, tag, params.runs(log))
    params.choice("format", ("csv",))
    with log.lock:
        rows = sum(log.index.rows_of(run, tag) for run in runs)
    if rows > _MOST_ROWS:
        raise TooMuchError(
            f"{rows:,} points, want at most {_MOST_ROWS:,}",
            hint="choose fewer runs; tbq export writes any number",
        )
    if rows <= _AT_ONCE:
        return csv_answer(table(log, tag, runs), f"{tag}.csv")
    with log.lock:
        longest = max(log.index.rows_of(run, tag) for run in runs)
    held = _OF_ROW * (longest + _AT_ONCE)
    return Answer(b"", CSV, headers=attachment(f"{tag}.csv"), parts=_csv_parts(log, tag, runs), held=held)


def _csv_parts(log: LiveLog, tag: str, runs: Sequence[str]) -> Iterator[bytes]:
    """The file, one run at a time: a slow client keeps only one run's points in memory."""
    yield csv_text(table(log, tag, []))
    for run in runs:
        points = log.listing.points(run, tag)
        for start in range(0, len(points.steps), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            some = Points(points.steps[part], points.wall_times[part], points.values[part])
            yield csv_text(_table([run], tag, [some])).partition(b"\n")[2]


def csv_answer(table: pa.Table, name: str) -> Answer:
    """A table as a CSV file to download."""
    return Answer(csv_text(table), CSV, headers=attachment(name))


def csv_text(table: pa.Table) -> bytes:
    """A table as CSV; cells that a spreadsheet would run as formulas are escaped."""
    from tbq.export.csv import write
    from tbq.export.options import ExportOptions

    stream = io.BytesIO()
    write(table, stream, ExportOptions(format="csv", csv_safe=True))
    return stream.getvalue()


def attachment(name: str) -> dict[str, str]:
    """The header that makes a browser save a file, under a safe name."""
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_.=") else "_" for letter in name
    )
    return {"Content-Disposition": f'attachment; filename="{plain.lstrip(".")[-100:] or "tbq"}"'}
