"""Numbers of the runs table: the last, least, largest, … value of a tag in each run, over all its points."""

from __future__ import annotations

import json
import math
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.arguments import bad
from tbq.errors import UsageError
from tbq.roles import best_of
from tbq.server.params import TooMuchError
from tbq.server.points import table
from tbq.server.wire import Answer, frame
from tbq.table.summary import STATS, statistics
from tbq.text import is_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.server.params import Params
    from tbq.server.state import LiveLog

    Column = dict[str, tuple[int, float | None]]

_MOST = 1000  # columns of one answer
_KEPT = 600_000  # values that are kept for the next question, over all columns
_BATCH = 400_000  # points that are looked at together
_AT = re.compile(r"at:-?[0-9]{1,19}")  # a step of 64 bits


def metrics(log: LiveLog, params: Params) -> Answer:
    """One column per metric, one row per run, in the order of the runs."""
    wanted = parsed(params.text("columns"))
    rows = log.shown()
    columns: dict[str, NDArray[np.float64]] = {}
    about = []
    for place, (tag, stat) in enumerate(wanted):
        by_run = values(log, tag, stat, rows)
        column = np.array([by_run.get(run, math.nan) for run in rows], np.float64)
        columns[str(place)] = column
        # NaN in the column is either a value or none at all.
        odd = [i for i, run in enumerate(rows) if run in by_run and math.isnan(by_run[run])]
        about.append({"tag": tag, "stat": stat, "nan": odd})
    return frame(columns, version=log.version, ids=[log.id_of(run) for run in rows], metrics=about)


def parsed(text: str) -> list[tuple[str, str]]:
    """Pairs of a tag and a statistic."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    pairs = isinstance(given, list) and all(
        isinstance(each, list)
        and len(each) == 2
        and all(isinstance(part, str) and is_text(part) for part in each)
        for each in given
    )
    if not pairs:
        raise bad("columns", text[:100], 'JSON such as [["val/loss","min"]]')
    if len(given) > _MOST:
        raise TooMuchError(f"{len(given):,} columns, want at most {_MOST:,}")
    for _, stat in given:
        if stat != "best" and stat not in STATS and not _AT.fullmatch(stat):
            raise bad("columns", stat[:40], f"best, at:STEP, or one of {', '.join(STATS)}")
    return [(tag, stat) for tag, stat in given]


def values(log: LiveLog, tag: str, stat: str, rows: Sequence[str]) -> dict[str, float]:
    """A statistic of each of the runs that have the tag."""
    if stat == "best":
        stat = best_of(tag)
    with log.lock:
        sources = log.index.having("scalars", tag, rows)
        if stat == "last":
            last = log.index.last(tag)
            return {run: last[run] for run in sources if run in last}
        versions = {run: log.versions.get(run, 0) for run in sources}
        cache = _cache(log, tag, stat)
        stale = [run for run, version in versions.items() if cache.get(run, (-1, None))[0] != version]
    computed = _computed(log, tag, stat, stale)
    with log.lock:
        for run in stale:
            cache[run] = versions[run], computed.get(run)
        kept = {run: cache[run][1] for run in sources if run in cache}
        for run in [run for run in cache if run not in log.states]:
            del cache[run]
        _bound(log)
    return {run: value for run, value in kept.items() if value is not None}


def _cache(log: LiveLog, tag: str, stat: str) -> Column:
    """What is known of a column: of each run the version of which it is, and the value."""
    columns: OrderedDict[tuple[str, str], Column] = log.caches.setdefault("metrics", OrderedDict())
    column = columns.setdefault((tag, stat), {})
    columns.move_to_end((tag, stat))
    return column


def _bound(log: LiveLog) -> None:
    """Forget the columns that nobody asked for the longest: there are as many as anybody can name."""
    columns: OrderedDict[tuple[str, str], Column] = log.caches["metrics"]
    kept = sum(map(len, columns.values()))
    while len(columns) > 1 and (kept > _KEPT or len(columns) > _MOST):
        kept -= len(columns.popitem(last=False)[1])


def _computed(log: LiveLog, tag: str, stat: str, runs: Sequence[str]) -> dict[str, float]:
    if not runs:
        return {}
    if stat.startswith("at:"):
        return _at(log, tag, int(stat.removeprefix("at:")), runs)
    left = list(runs)
    by_run: dict[str, float] = {}
    if stat in ("min", "max"):  # quickly, of those without odd values
        ends = log.view.curves([(run, tag) for run in runs], width=1)
        column = ends.least if stat == "min" else ends.largest
        plain = np.isnan(ends.broken) & ~np.isnan(column[:, 0])
        by_run = {run: float(column[i, 0]) for i, run in enumerate(runs) if plain[i]}
        left = [run for run in runs if run not in by_run]
    while left:
        batch: list[str] = []
        points = 0
        while left and (not batch or points < _BATCH):
            batch.append(left.pop(0))
            points += log.index.rows_of(batch[-1], tag)
        names, (of_tag,) = statistics(table(log, tag, batch), (stat,), [tag])
        for run, value in zip(names.to_pylist(), of_tag.values.to_pylist(), strict=True):
            if value is not None:
                by_run[run] = float(value)
    return by_run


def _at(log: LiveLog, tag: str, step: int, runs: Sequence[str]) -> dict[str, float]:
    """The value at a step, or the last one before it."""
    by_run = {}
    for run in runs:
        steps, _, values_of_run = log.listing.points(run, tag)
        before = np.flatnonzero(steps <= step)
        if len(before):
            latest = steps[before].max()
            by_run[run] = float(values_of_run[before[steps[before] == latest][-1]])
    return by_run


def check_tag(log: LiveLog, tag: str) -> None:
    """An error if no run ever had this tag."""
    with log.lock:
        if log.index.code(tag) < 0:
            raise UsageError(f"no run has the tag {tag[:200]!r}")


def cells(log: LiveLog, wanted: Sequence[tuple[str, str]], rows: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of metrics as lists with None for absent, by their names in a summary."""
    lists: dict[str, list[Any]] = {}
    for tag, stat in wanted:
        by_run = values(log, tag, stat, rows)
        lists[tag if stat == "last" else f"{tag}.{stat}"] = [by_run.get(run) for run in rows]
    return lists
