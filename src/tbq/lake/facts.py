"""Stores facts about runs in a lake. A reader computes the states of the runs from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.arrow import table_of, to_pyarrow
from tbq.columns.codes import values_of
from tbq.kinds.run_states import RunFacts, states_now, with_states
from tbq.lake.layout import ROW, RUN_FACTS, lake_schema

if TYPE_CHECKING:
    from tbq._core import RunEnds
    from tbq.states import State


def facts_table(facts: Mapping[str, RunFacts]) -> pa.Table:
    """The rows of these runs, without row numbers."""
    columns = lake_schema(RUN_FACTS)
    rows = [row_of(run, of_run) for run, of_run in facts.items()]
    return pa.Table.from_pylist(rows, columns.remove(columns.get_field_index(ROW)))


def row_of(run: str, facts: RunFacts) -> dict[str, Any]:
    """The row of a run."""
    return {
        "run": run,
        "failed": facts.ends.failed,
        "marked_at": facts.ends.marked_at,
        "logged_until": facts.ends.logged_until,
        "broken": list(facts.broken),
        "pause": facts.pause,
        "last_step": facts.last_step,
    }


def extend(
    row: dict[str, Any], new: RunFacts, logged: Iterable[str], last_steps: Iterable[int]
) -> dict[str, Any]:
    """The row after more of the run was read: `new` describes only the new part, which has values of the tags `logged`.
    `last_steps` are the last steps of all series of the run."""
    ends = ends_in(row)
    ends.merge(new.ends)
    gone = set(logged)
    broken = [tag for tag in row["broken"] if tag not in gone]
    facts = RunFacts(
        ends, sorted({*broken, *new.broken}), new.pause or row["pause"], max(last_steps, default=None), None
    )
    return row_of(row["run"], facts)


def with_states_now(runs: pa.Table, stored: pa.Table) -> pa.Table:
    """The `runs` table of a lake with the current states. A run without facts has no state."""
    known = {row["run"]: row for row in stored.to_pylist()}
    times = dict(zip(values_of(runs["run"]), values_of(runs["last_wall_time"]), strict=True))
    facts = {
        run: RunFacts(ends_in(row), row["broken"], row["pause"], row["last_step"], times[run])
        for run, row in known.items()
        if run in times
    }
    states: dict[str, State | None] = dict.fromkeys(times)
    return to_pyarrow(with_states(table_of(runs), states | states_now(facts)))


def ends_in(row: Mapping[str, Any]) -> RunEnds:
    """What a row says about the end of its run."""
    from tbq import _core

    return _core.RunEnds(row["failed"], row["marked_at"], row["logged_until"])
