"""What happened to a metric: series in a few points that keep extremes, with exact statistics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from tbq.assistant.answer import AskedWrongError, ToolAnswer, shown, value
from tbq.assistant.names import Names, grouping_of, paths_of, run_words, runs_of, tags_of
from tbq.assistant.tokens import tokens
from tbq.errors import TbqError
from tbq.roles import best_of
from tbq.select import steps as step_range
from tbq.server.answers.groups import grouping, lines
from tbq.server.answers.metrics import values as metric_values
from tbq.table.downsample import max_points
from tbq.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.server.live_log import LiveLog

BUDGET = 1500
_MOST_SERIES, _MOST_POINTS = 10, 50
_FEWEST = 4  # points of a series that are worth a line
_RESERVED = 120  # tokens for everything besides the series


class _Line(NamedTuple):
    """One series to show."""

    name: str
    steps: NDArray[np.int64]
    values: NDArray[np.float64]
    runs: int = 1  # the number of runs; the series is their mean
    broken: int = 0  # how many of them have values that are not finite; the mean leaves them out


def curve(
    log: LiveLog,
    tag: Names,
    run: Names = None,
    by: Names = None,
    steps: str | None = None,
    points: int = _MOST_POINTS,
) -> ToolAnswer:
    """The answer of the tool `curve`."""
    if not 1 <= points <= _MOST_POINTS:
        raise AskedWrongError(f"points: got {points}, want a whole number from 1 to {_MOST_POINTS}")
    try:
        low, high = step_range(steps)
    except TbqError as wrong:
        raise AskedWrongError(wrong.message) from None
    by = None if by in ("run", ["run"]) else by
    answer = ToolAnswer(BUDGET)
    runs, tags = runs_of(log, run, answer), tags_of(log, tag, answer)
    answer.command = _command(log, tags, run, by, steps)
    series, total = _series(log, tags, runs, by)
    if not series:
        raise AskedWrongError(
            f"none of {counted(len(runs), 'run')} has scalars of {', '.join(map(shown, tags[:3]))}"
        )
    cut = [_within(each, low, high) for each in series]
    inside = [each for each in cut if len(each.steps)]
    if not inside:
        ends = min(int(each.steps.min()) for each in series), max(int(each.steps.max()) for each in series)
        raise AskedWrongError(f"no value in steps {steps}; there are steps {ends[0]} to {ends[1]}")
    if total > len(series):
        left = total - len(series)
        what = counted(left, "more group") if by else f"{left:,} more series"
        answer.note(f"{what} left out, the best are shown: name run= or by=")
    if len(inside) < len(cut):
        answer.note(f"{len(cut) - len(inside):,} series without values in steps {steps}")
    _say(answer, inside, points)
    return answer


def _series(log: LiveLog, tags: Sequence[str], runs: Sequence[str], by: Names) -> tuple[list[_Line], int]:
    """The series to show, the best first if there are too many, and how many there are."""
    found: list[_Line] = []
    total = 0
    several = len(tags) > 1
    for tag in tags:
        room = _MOST_SERIES - len(found)
        with log.lock:
            having = log.index.having("scalars", tag, runs)
        if by is not None:
            of_tag = list(_groups(log, tag, having, by)) if having else []
            total += len(of_tag)
            found += [
                each._replace(name=f"{shown(tag)} · {each.name}" if several else each.name)
                for each in of_tag[:room]
            ]
            continue
        total += len(having)
        if len(having) > room:
            having = _best(log, tag, having)[:room]
        for run in having:
            points = log.listing.points(run, tag)
            if len(points.steps):
                name = f"{shown(tag)} · {shown(run)}" if several else shown(run)
                found.append(_Line(name, points.steps, points.values))
    return found, total


def _groups(log: LiveLog, tag: str, runs: Sequence[str], by: Names) -> Iterator[_Line]:
    try:
        groups = grouping(log, runs, grouping_of(log, by))
    except TbqError as wrong:
        raise AskedWrongError(wrong.message + (f"; {wrong.hint}" if wrong.hint else "")) from None
    members: dict[str, list[str]] = {name: [] for name in groups.names}
    for run, name in groups.of_run.items():
        members[name].append(run)
    for name, line in lines(log, tag, members, "step", 0.0, "std"):
        named = ", ".join(shown(part) for part in name.split(", "))
        ends = log.view.curves([(run, tag) for run in members[name]], width=1)
        broken = int(np.isfinite(ends.broken).sum())
        yield _Line(named, line.moments.step, line.moments.mean, len(members[name]), broken)


def _best(log: LiveLog, tag: str, runs: Sequence[str]) -> list[str]:
    """The runs by their best value, the best first."""
    way = best_of(tag)
    best = metric_values(log, tag, way, runs)
    sign = -1 if way == "max" else 1
    return sorted(
        runs, key=lambda run: (not math.isfinite(best.get(run, math.nan)), sign * best.get(run, 0.0), run)
    )


def _within(line: _Line, low: int, high: int) -> _Line:
    inside = (line.steps >= low) & (line.steps <= high)
    return line._replace(steps=line.steps[inside], values=line.values[inside])


def _say(answer: ToolAnswer, series: Sequence[_Line], most: int) -> None:
    """A line of statistics for each series, and as many points as the budget allows."""
    heads = [_statistics(each) for each in series]
    left = answer.budget - _RESERVED - sum(tokens(head) + 2 for head in heads)
    room = max(left // len(series), 0)
    fewer = 0
    for head, each in zip(heads, series, strict=True):
        answer.say(head)
        drawn = _points(each, most, room)
        fewer += int(np.isfinite(each.values).sum()) > len(drawn)
        if drawn:
            answer.block("  " + " ".join(drawn))
    if fewer:
        answer.note(
            f"points are step:value; {fewer:,} of {len(series):,} series show fewer points than they have, with their "
            "extremes; steps= shows a part in full"
        )


def _statistics(each: _Line) -> str:
    steps, values = each.steps, each.values
    good = np.isfinite(values)
    mean = f", mean of {each.runs} runs" if each.runs > 1 else ""
    mean += f", {each.broken} of them with values that are not finite, left out" if each.broken else ""
    text = f"{each.name}{mean}: {len(values):,} points, steps {steps.min()} to {steps.max()}"
    text += f", first {value(float(values[0]))}, last {value(float(values[-1]))}"
    if good.any():
        kept = np.where(good, values, np.nan)
        low, high = int(np.nanargmin(kept)), int(np.nanargmax(kept))
        text += f", min {value(float(values[low]))} at {steps[low]}, max {value(float(values[high]))} at {steps[high]}"
    odd = int((~good).sum())
    since = f" (first at {steps[int(np.argmin(good))]})" if odd else ""
    return f"{text}, not finite: {odd}{since}"


def _points(each: _Line, most: int, room: int) -> list[str]:
    """As many points as cost at most `room` tokens: the smallest and largest of each stretch."""
    good = np.isfinite(each.values)
    steps, values = each.steps[good], each.values[good]
    count = min(most, len(values))
    while count >= min(_FEWEST, len(values)) and count:
        drawn = [f"{step}:{value(number)}" for step, number in _thinned(steps, values, count)]
        cost = tokens(" ".join(drawn))
        if cost <= room:
            return drawn
        count = min(count - 1, count * room // cost)
    return []


def _thinned(steps: NDArray[np.int64], values: NDArray[np.float64], most: int) -> list[tuple[int, float]]:
    if len(values) > most:
        names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(values), np.int32)), pa.array([""]))
        columns = {"run": names, "tag": names, "step": pa.array(steps), "value": pa.array(values)}
        table = max_points(pa.table(columns), max(most, 2), "minmax")
        steps, values = table["step"].to_numpy(), table["value"].to_numpy()
    return list(zip(steps.tolist(), values.tolist(), strict=True))[:most]


def _command(log: LiveLog, tags: Sequence[str], run: Names, by: Names, steps: str | None) -> list[str]:
    words = ["tbq", "reduce" if by is not None else "export", *paths_of(log)]
    if by is not None:
        words += ["--by", grouping_of(log, by), "--stat", "mean"]
    words += [word for tag in tags[:5] for word in ("--tag", tag)]
    return words + run_words(log, run) + (["--steps", steps] if steps else [])
