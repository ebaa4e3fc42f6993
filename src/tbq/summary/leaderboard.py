"""Runs from the best to the worst: a summary sorted by its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tbq.arguments import whole
from tbq.errors import SelectionError, UsageError
from tbq.select import closest_tip
from tbq.summary.per_run import summary
from tbq.table.sort import sort_key, sorted_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.decode.reader import Reader
    from tbq.summary.table import SummaryTable


def leaderboard(
    reader: Reader,
    *,
    best: Mapping[str, str] | None = None,
    sort: Sequence[str] | str = (),
    top: int | None = None,
    **options: Any,
) -> SummaryTable:
    """The summary with the best runs first, then sorted by columns; options as in `log.summary`."""
    keys = [sort] if isinstance(sort, str) else sort
    if top is not None and not best and not keys:
        raise no_order("runs")
    table = summary(reader, best=best, **options)
    arrow, columns = table.to_arrow(), table.best
    for tag in columns:
        column = columns[tag][0]
        if arrow[column].null_count == len(arrow):
            tip = closest_tip(tag, [name for name in arrow.column_names[1:] if name not in columns[tag]])
            raise SelectionError(f"best: no run has numbers for {tag!r}{tip}", path=reader.path)
    order = {columns[tag][0]: way for tag, way in (best or {}).items()}
    return table.having(ranked(arrow, keys, order, top)) if order or keys else table


def no_order(what: str) -> UsageError:
    """The error for `top` without an order: the first runs by name are not the best ones."""
    return UsageError(
        f"top: nothing says which {what} come first",
        hint="add best={'val/loss': 'min'} or sort='COLUMN' (--best val/loss:min, --sort COLUMN)",
    )


def ranked(
    table: pa.Table, sort: Sequence[str] = (), best: Mapping[str, str] | None = None, top: int | None = None
) -> pa.Table:
    """The rows by the best columns first (`{"val/loss.best": "min"}`), then by others (`"lr"`, `"lr:desc"`).

    Absent values and NaN come last in either direction. `top` limits the number of rows.

    >>> import pyarrow as pa
    >>> table = pa.table({"run": ["a", "b", "c"], "loss.best": [0.2, None, 0.1]})
    >>> ranked(table, best={"loss.best": "min"})["run"].to_pylist()
    ['c', 'a', 'b']
    """
    if top is not None:
        top = whole("top", top, least=1)
    keys = [(name, way == "max") for name, way in (best or {}).items()]
    keys += [sort_key(each, table.column_names) for each in sort]
    table = sorted_rows(table, keys)
    return table if top is None else table.slice(0, top)
