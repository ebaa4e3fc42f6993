"""Numbers of the runs table: the last, smallest, largest, … value of a tag in each run, over all its points."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.arguments import bad
from tbq.errors import UsageError
from tbq.roles import best_of
from tbq.server.answers.points import table
from tbq.server.http.encoding import Answer, frame
from tbq.server.http.params import TooMuchError
from tbq.summary.statistics import STATS, statistics
from tbq.text import is_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

    Column = dict[str, tuple[int, float | None]]  # by run: its version, and the value in it

_MOST = 1000  # columns of one answer
_KEPT = 600_000  # cached values, over all columns
_BATCH = 400_000  # points in one table
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
        # NaN in a column means that the run has no value, unless `nan` lists the run: then the value is NaN.
        odd = [i for i, run in enumerate(rows) if run in by_run and math.isnan(by_run[run])]
        about.append({"tag": tag, "stat": stat, "nan": odd})
    return frame(columns, version=log.version, ids=[log.id_of(run) for run in rows], metrics=about)


def parsed(text: str) -> list[tuple[str, str]]:
    """Pairs of a tag and a statistic."""
    try:
        pairs = json.loads(text)
    except (ValueError, RecursionError):
        pairs = None
    valid = isinstance(pairs, list) and all(
        isinstance(each, list)
        and len(each) == 2
        and all(isinstance(part, str) and is_text(part) for part in each)
        for each in pairs
    )
    if not valid:
        raise bad("columns", text[:100], 'JSON such as [["val/loss","min"]]')
    if len(pairs) > _MOST:
        raise TooMuchError(f"{len(pairs):,} columns, want at most {_MOST:,}")
    for _, stat in pairs:
        if stat != "best" and stat not in STATS and not _AT.fullmatch(stat):
            raise bad("columns", stat[:40], f"best, at:STEP, or one of {', '.join(STATS)}")
    return [(tag, stat) for tag, stat in pairs]


def values(log: LiveLog, tag: str, stat: str, rows: Sequence[str]) -> dict[str, float]:
    """A statistic of each run that has the tag."""
    if stat == "best":
        stat = best_of(tag)
    with log.lock:
        sources = log.index.having("scalars", tag, rows)
        if stat == "last":
            last = log.index.last(tag)
            return {run: last[run] for run in sources if run in last}
        versions = {run: log.versions.get(run, 0) for run in sources}
    known: Column = log.cache.get("metrics", (tag, stat)) or {}
    stale = [run for run, version in versions.items() if known.get(run, (-1, None))[0] != version]
    if stale:
        computed = _computed(log, tag, stat, stale)
        with log.lock:
            known = {run: value for run, value in known.items() if run in log.states}
        known |= {run: (versions[run], computed.get(run)) for run in stale}
        # A column weighs something even without runs: requests can name any number of columns.
        log.cache.put("metrics", (tag, stat), known, weight=len(known) + _KEPT // _MOST, limit=_KEPT)
    by_run = {run: known[run][1] for run in sources if run in known}
    return {run: value for run, value in by_run.items() if value is not None}


def _computed(log: LiveLog, tag: str, stat: str, runs: Sequence[str]) -> dict[str, float]:
    if not runs:
        return {}
    if stat.startswith("at:"):
        return _at(log, tag, int(stat.removeprefix("at:")), runs)
    left = list(runs)
    by_run: dict[str, float] = {}
    if stat in ("min", "max"):  # from the core, for runs without values that are not finite
        ends = log.view.curves([(run, tag) for run in runs], width=1)
        column = ends.min if stat == "min" else ends.max
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
    """Raise an error if no run ever had this tag."""
    with log.lock:
        if log.index.code(tag) < 0:
            raise UsageError(f"no run has the tag {tag[:200]!r}")


def cells(log: LiveLog, wanted: Sequence[tuple[str, str]], rows: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of metrics by their names in a summary; None if a run has no value."""
    lists: dict[str, list[Any]] = {}
    for tag, stat in wanted:
        by_run = values(log, tag, stat, rows)
        lists[tag if stat == "last" else f"{tag}.{stat}"] = [by_run.get(run) for run in rows]
    return lists
