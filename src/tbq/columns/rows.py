"""Selecting and ordering rows of small tables without Arrow's compute functions, which take 30 ms to import.

Large tables use Arrow; `FEW` is where it begins to pay, and tests set it to compare both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.columns.codes import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

#: Tables with fewer cells than this are handled as Python values.
FEW = 1 << 16


def having(table: pa.Table, column: str, names: Iterable[str]) -> pa.Table:
    """The rows whose label or string column has one of these names.

    >>> import pyarrow as pa
    >>> having(pa.table({"run": ["a", "b", "a"], "step": [1, 2, 3]}), "run", ["a"])["step"].to_pylist()
    [1, 3]
    """
    if table.num_rows * table.num_columns < FEW:
        wanted = set(names)
        return take(table, [row for row, name in enumerate(values_of(table[column])) if name in wanted])
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = pa.array(list(names), pa.string())
    return table.filter(pc.is_in(table[column].cast(pa.string()), labels))


def with_strings(columns: pa.Schema) -> pa.Schema:
    """The schema with labels as plain strings.

    >>> import pyarrow as pa
    >>> with_strings(pa.schema([("run", pa.dictionary(pa.int32(), pa.string()))])).field("run").type
    DataType(string)
    """
    import pyarrow as pa

    return pa.schema(
        [
            column.with_type(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for column in columns
        ]
    )


def take(table: pa.Table, rows: Sequence[int]) -> pa.Table:
    """These rows of a table; selecting all rows in order is free."""
    import pyarrow as pa

    if len(rows) == table.num_rows and list(rows) == list(range(table.num_rows)):
        return table
    if table.num_rows * table.num_columns >= FEW:
        return table.take(pa.array(rows, pa.int64()))
    columns = [take_cells(column, rows) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def take_cells(column: pa.ChunkedArray | pa.Array, rows: Sequence[int | None]) -> pa.Array | pa.ChunkedArray:
    """The cells of a column at these rows; null for None."""
    import pyarrow as pa

    if max(len(column), len(rows)) >= FEW:
        return column.take(pa.array(rows, pa.int64()))
    cells = [*values_of(column), None]
    return pa.array([cells[-1 if row is None else row] for row in rows], column.type)


def recast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the types of a schema that has the same columns."""
    import pyarrow as pa

    if table.num_rows * table.num_columns >= FEW:
        return table.cast(schema)
    columns = [
        column if column.type == field.type else pa.array(values_of(column), field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)
