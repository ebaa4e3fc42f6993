"""From a log to statistics over its runs: read, group, reduce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from tbq.arguments import keywords
from tbq.decode.options import SELECTED
from tbq.query.groups import Grouping
from tbq.query.reduce import parse, reduce, tell_uneven
from tbq.table.scalars import scalars as read_scalars
from tbq.table.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.decode.options import Selected
    from tbq.decode.reader import Reader
    from tbq.select import Names


def over_runs(
    reader: Reader,
    by: str | Sequence[str],
    stats: str | Sequence[str],
    tag: Names = None,
    **selected: Unpack[Selected],
) -> tuple[Table, pa.ChunkedArray]:
    """The table of `log.reduce`, and the mean wall time of each of its rows."""
    keywords("log.reduce", selected, ("by", "stats", "best", "sort", "top", *SELECTED))
    names = parse(stats)
    runs = [each.name for each in reader.choose(selected.pop("run", None))]
    groups = Grouping.of(runs, by, reader).of_run
    selected["run"] = list(groups) if len(groups) < len(reader.runs) else None
    scalars = read_scalars(reader, tag, **selected).to_arrow()
    tell_uneven(scalars, groups)
    times = scalars.set_column(scalars.schema.get_field_index("value"), "value", scalars["wall_time"])
    table = Table(reduce(scalars, groups, names), "reduced", logdir=reader.path)
    return table, reduce(times, groups, "mean")["mean"]
