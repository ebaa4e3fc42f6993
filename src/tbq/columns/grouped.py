"""The rows of a scalar table grouped by run and tag, for everything that works on one series at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of, numbers, order_of, starts_of
from tbq.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.columns.codes import Ints

NEEDED = ("run", "tag", "step", "value")


def complete(table: pa.Table) -> pa.Table:
    """The rows of a scalar table that have a run, a tag, a step and a value: no other row belongs to a series.

    >>> complete(pa.table({"run": ["a", "a"], "tag": ["x", None], "step": [1, 2], "value": [0.5, 0.5]})).num_rows
    1
    """
    if not {*NEEDED} <= {*table.column_names}:
        raise UsageError(
            f"curves need scalars: want the columns {', '.join(NEEDED)}, got {', '.join(table.column_names)}",
            hint="use log.scalars()",
        )
    for name in NEEDED:
        if table.column(name).null_count:
            table = table.filter(table.column(name).is_valid())
    return table


@dataclass(frozen=True)
class GroupedRows:
    """The complete rows of a scalar table, one group per run and tag, each in the order of the table."""

    run: Ints  # the run code of each row
    tag: Ints
    step: NDArray[np.int64]
    value: NDArray[np.float64]
    starts: NDArray[np.int64]  # the first row of each group
    run_names: list[str]
    tag_names: list[str]
    wall_time: NDArray[np.float64] | None = None
    order: NDArray[np.int64] | None = None  # the complete row behind each row; None if the table was grouped

    @classmethod
    def of(cls, table: pa.Table, wall_time: bool = False) -> GroupedRows:
        """Group the table; one in order of run and tag, as tbq's are, is not copied."""
        table = complete(table)
        run, run_names = codes_of(table.column("run"))
        tag, tag_names = codes_of(table.column("tag"))
        step, value = numbers(table.column("step")), numbers(table.column("value"))
        wall_times = numbers(table.column("wall_time")) if wall_time else None
        starts, order = starts_of(run, tag), None
        if not _grouped(run[starts], tag[starts], len(tag_names)):
            order = np.lexsort((order_of(tag_names)[tag], order_of(run_names)[run]))
            run, tag, step, value = run[order], tag[order], step[order], value[order]
            wall_times = None if wall_times is None else wall_times[order]
            starts = starts_of(run, tag)
        names = run_names.to_pylist(), tag_names.to_pylist()
        return cls(run, tag, step, value, starts, *names, wall_times, order)

    @property
    def ends(self) -> NDArray[np.int64]:
        """The row after the last row of each group."""
        ends = np.append(self.starts, len(self.run))[1:]
        return ends.astype(np.int64)

    def parts(self) -> dict[tuple[str, str], slice]:
        """The rows of each run and tag."""
        return {
            (self.run_names[self.run[start]], self.tag_names[self.tag[start]]): slice(start, end)
            for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        }

    def in_table_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value per row, in the order of the table's complete rows."""
        if self.order is None:
            return values
        ordered = np.empty_like(values)
        ordered[self.order] = values
        return ordered


def _grouped(run: Ints, tag: Ints, tags: int) -> bool:
    """Whether each run is one block, and each tag one block within it."""
    key = run.astype(np.int64) * (tags + 1) + tag
    return _are_distinct(key) and _are_distinct(run[starts_of(run)])


def _are_distinct(numbers: NDArray[np.integer[Any]]) -> bool:
    ordered = np.sort(numbers)  # not np.unique, which would import numpy.ma
    return bool((ordered[1:] != ordered[:-1]).all())
