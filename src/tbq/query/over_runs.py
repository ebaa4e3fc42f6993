"""From a logdir to statistics over its runs: read, group, reduce, and write back as events."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tbq.query.events import check_events, write_events
from tbq.query.groups import group_runs
from tbq.query.reduce import parse, reduce, tell_uneven
from tbq.select import Names, Steps
from tbq.table import Table

if TYPE_CHECKING:
    from tbq.logdir import LogDir


def over_runs(
    log: LogDir,
    group: str | Sequence[str],
    stats: str | Sequence[str],
    run: Names,
    tag: Names,
    steps: Steps,
    as_events: str | os.PathLike[str] | None,
    reading: Mapping[str, Any],
) -> Table:
    """The table of `log.reduce`."""
    names = parse(stats)
    if as_events is not None:
        check_events(as_events)
    groups = group_runs([one.name for one in log._choose(run)], group)
    chosen = list(groups) if len(groups) < len(log.runs) else None
    scalars = log.scalars(run=chosen, tag=tag, steps=steps, **reading).to_arrow()
    tell_uneven(scalars, groups)
    table = reduce(scalars, groups, names)
    if as_events is not None:
        times = scalars.set_column(scalars.schema.get_field_index("value"), "value", scalars["wall_time"])
        write_events(table, reduce(times, groups, "mean")["mean"], as_events)
    return Table(table, "reduced", logdir=log.path)
