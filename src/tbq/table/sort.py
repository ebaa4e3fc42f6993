"""Rows of a table in the order of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.arguments import bad
from tbq.columns.codes import values_of
from tbq.columns.rows import take
from tbq.errors import UsageError
from tbq.select import closest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa


def sort_key(key: str, columns: Sequence[str]) -> tuple[str, bool]:
    """Parse `"lr"`, `"lr:asc"` or `"lr:desc"`: the column, and whether it descends.

    >>> sort_key("lr:desc", ["run", "lr"])
    ('lr', True)
    """
    if not isinstance(key, str):
        raise bad("sort", key, 'columns, e.g. "value" or "value:desc"')
    name, _, way = key.rpartition(":")
    if key in columns or way not in ("asc", "desc"):
        name, way = key, "asc"
    if name not in columns:
        near = closest(name, list(columns))
        raise UsageError(
            f"no column {name!r} to sort by",
            hint=f"closest: {', '.join(near)}" if near else f"columns: {', '.join(columns)}",
        )
    return name, way == "desc"


def sorted_rows(table: pa.Table, keys: Sequence[tuple[str, bool]]) -> pa.Table:
    """The rows by the first key, then the next; equal rows keep their order. Absent values and NaN come last."""
    rows: Sequence[int] = range(table.num_rows)
    for name, descending in reversed(keys):
        values = list(values_of(table[name]))
        present = [row for row in rows if values[row] is not None and values[row] == values[row]]
        absent = [row for row in rows if values[row] is None or values[row] != values[row]]
        try:
            present.sort(key=values.__getitem__, reverse=descending)  # stable either way
        except TypeError:
            raise UsageError(f"cannot sort by {name!r}: its values have no order") from None
        rows = [*present, *absent]
    return take(table, rows)
