"""Rows selected by name or number, by functions of Arrow's core: `pyarrow.compute` takes 40 ms to import."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa


def having(table: pa.Table, column: str, names: Iterable[str]) -> pa.Table:
    """The rows whose label or string column has one of these names.

    >>> import pyarrow as pa
    >>> having(pa.table({"run": ["a", "b", "a"], "step": [1, 2, 3]}), "run", ["a"])["step"].to_pylist()
    [1, 3]
    """
    from pyarrow._compute import SetLookupOptions, call_function

    wanted = SetLookupOptions(pa.array(list(names), pa.string()))
    found = call_function("is_in", [_cast(table[column], pa.string())], wanted)
    return call_function("filter", [table, found])


def with_strings(columns: pa.Schema) -> pa.Schema:
    """The schema with labels as plain strings.

    >>> import pyarrow as pa
    >>> with_strings(pa.schema([("run", pa.dictionary(pa.int32(), pa.string()))])).field("run").type
    DataType(string)
    """
    return pa.schema(
        [
            column.with_type(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for column in columns
        ]
    )


def take(table: pa.Table, rows: Sequence[int]) -> pa.Table:
    """These rows of a table; selecting all rows in order is free."""
    if len(rows) == table.num_rows and list(rows) == list(range(table.num_rows)):
        return table
    return take_cells(table, rows)


def take_cells(cells: Any, rows: Sequence[int | None]) -> Any:
    """The cells of a column, or of all columns, at these rows; null for None."""
    from pyarrow._compute import call_function

    return call_function("take", [cells, pa.array(rows, pa.int64())])


def recast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the types of a schema that has the same columns."""
    columns = [_cast(column, field.type) for column, field in zip(table.columns, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    from pyarrow._compute import CastOptions, call_function

    return column if column.type == type_ else call_function("cast", [column], CastOptions.safe(type_))
