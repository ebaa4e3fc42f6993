"""Computes the states of runs from what their files say."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.columns.codes import values_of
from tbq.states import Facts, State, is_diverged, states_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tbq._core import FileReport, Result, RunEnds


class RunFacts(NamedTuple):
    """What the state of a run depends on, besides the time and its siblings."""

    ends: RunEnds
    broken: Sequence[str]  # the losses whose last value is not a finite number
    pause: float  # as in Facts
    last_step: int | None
    last_wall_time: float | None


def facts_of(names: Sequence[str], result: Result, series: pa.Table) -> dict[str, RunFacts]:
    """The facts about each run of a result, by name; `series` is the result's table."""
    import numpy as np

    codes = series["run"].combine_chunks().indices.to_numpy()
    counts = series["count"].to_numpy()
    logged = counts > 0
    last_steps = np.full(len(names), np.iinfo(np.int64).min)
    np.maximum.at(last_steps, codes[logged], series["last_step"].to_numpy()[logged])
    has_steps = np.zeros(len(names), bool)
    has_steps[codes[logged]] = True
    ends, times = result.run_ends(), last_times(result.files)
    broken, pauses = _broken(codes, counts, series), _pauses(codes, counts, series, len(names))
    return {
        name: RunFacts(ends[run], broken.get(run, ()), pause, step if known else None, times.get(run))
        for run, (name, step, known, pause) in enumerate(
            zip(names, last_steps.tolist(), has_steps.tolist(), pauses, strict=True)
        )
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


def with_states(table: pa.Table, states: Mapping[str, State | None]) -> pa.Table:
    """The `runs` table with its column of states."""
    import pyarrow as pa

    column = pa.array([states[run] for run in values_of(table["run"])], pa.string()).dictionary_encode()
    place = table.column_names.index("state")
    return table.set_column(place, table.schema.field("state"), column)


def _broken(codes: NDArray[Any], counts: NDArray[Any], series: pa.Table) -> dict[int, list[str]]:
    import numpy as np

    broken: dict[int, list[str]] = {}
    rows = np.flatnonzero(~np.isfinite(series["last_value"].to_numpy()) & (counts > 0))
    if len(rows):
        tags = values_of(series["tag"])
        for row in rows.tolist():
            if is_diverged(tags[row], math.nan):
                broken.setdefault(int(codes[row]), []).append(tags[row])
    return broken


def _pauses(codes: NDArray[Any], counts: NDArray[Any], series: pa.Table, runs: int) -> list[float]:
    """For each run, the pause of the series that it logs most often: that series shows how far the run is."""
    import numpy as np

    pauses = series["pause"].to_numpy()
    out = np.zeros(runs)
    rows = np.flatnonzero(pauses > 0)
    # The last series of a run in this order wins: the most values, then the largest step, then the first row.
    order = rows[np.lexsort((-rows, series["last_step"].to_numpy()[rows], counts[rows]))]
    out[codes[order]] = pauses[order]
    return [float(each) for each in out.tolist()]
