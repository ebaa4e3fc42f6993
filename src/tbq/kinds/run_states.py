"""Computes the states of runs from what their files say."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.arrow import labels, values_of
from tbq.states import Facts, State, is_diverged, states_of

if TYPE_CHECKING:
    from arro3.core import Table

    from tbq._core import FileReport, Result, RunEnds


class RunFacts(NamedTuple):
    """What the state of a run depends on, besides the time and its siblings."""

    ends: RunEnds
    broken: Sequence[str]  # the losses whose last value is not a finite number
    pause: float  # as in Facts
    last_step: int | None
    last_wall_time: float | None


class Totals(NamedTuple):
    """What the series of a run say together."""

    events: int
    max_step: int | None
    last_step: int | None
    pause: float  # as in Facts
    not_finite: Sequence[str]  # the tags whose last value is not a finite number


def totals_of(series: Any, runs: int) -> list[Totals]:
    """The totals of each run; `series` is the core's table of series, of any library."""
    from tbq import _core

    return [Totals._make(of_run) for of_run in _core.run_totals(series, runs)]


def facts_of(names: Sequence[str], result: Result, totals: Sequence[Totals]) -> dict[str, RunFacts]:
    """The facts about each run of a result, by name."""
    ends, times = result.run_ends(), last_times(result.files)
    return {
        name: RunFacts(
            ends[run],
            [tag for tag in of_run.not_finite if is_diverged(tag, math.nan)],
            of_run.pause,
            of_run.last_step,
            times.get(run),
        )
        for run, (name, of_run) in enumerate(zip(names, totals, strict=True))
    }


def joined(run_and_subs: Sequence[RunFacts]) -> RunFacts:
    """The facts about a run and its sub-runs together; the run comes first."""
    from tbq import _core

    own, *subs = run_and_subs
    if not subs:
        return own
    ends = _core.RunEnds(own.ends.failed, own.ends.marked_at, own.ends.logged_until)
    for sub in subs:  # the end of a sub-run counts, but its times do not
        ends.merge(_core.RunEnds(sub.ends.failed, sub.ends.marked_at, 0.0))
    steps = [each.last_step for each in run_and_subs if each.last_step is not None]
    times = [each.last_wall_time for each in run_and_subs if each.last_wall_time is not None]
    broken = [tag for each in run_and_subs for tag in each.broken]
    return RunFacts(ends, broken, own.pause, max(steps, default=None), max(times, default=None))


def last_times(reports: Sequence[FileReport]) -> dict[int, float]:
    """The last wall time in the files of each run; runs without a time are absent."""
    times: dict[int, float] = {}
    for report in reports:
        if report.timed:
            times[report.run] = max(times.get(report.run, -math.inf), report.last_wall_time)
    return times


def states_now(facts: Mapping[str, RunFacts]) -> dict[str, State]:
    """The current state of each run. Siblings are looked for among these runs only."""
    now = time.time()
    return states_of(
        {
            run: Facts(
                of_run.ends.end,
                bool(of_run.broken),
                math.inf if of_run.last_wall_time is None else max(now - of_run.last_wall_time, 0.0),
                of_run.pause,
                of_run.last_step,
            )
            for run, of_run in facts.items()
        }
    )


def with_states(table: Table, states: Mapping[str, State | None]) -> Table:
    """The `runs` table with its column of states."""
    column = labels([states[run] for run in values_of(table["run"])])
    return table.set_column(table.column_names.index("state"), "state", column)
