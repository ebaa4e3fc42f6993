"""Arrow tables without pyarrow: pyarrow and NumPy take longer to import than a short command may take.

Tables from the core are arro3's. Functions that compute with pyarrow convert them by `to_pyarrow`, without a copy.
Tables from elsewhere may be pyarrow's: the functions here take both.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from arro3.core import Array, ChunkedArray, DataType, Table

from tbq._core import formats
from tbq.schema import columns_of

if TYPE_CHECKING:
    import pyarrow as pa

#: A table of either library.
Arrow: TypeAlias = "Table | pa.Table"

_LABEL = DataType.dictionary(DataType.int32(), DataType.string())
_INTEGERS, _FLOATS, _BYTES = "cCsSiIlL", "efg", ("z", "Z")
_PIECE = 1 << 14  # rows that become Python values at a time


def table_of(stream: Any) -> Table:
    """The table of a stream from the core."""
    return Table.from_arrow(stream)


def made(kind: str, columns: Mapping[str, Sequence[Any]]) -> Table:
    """A table of a kind from Python values; lists and bytes are not supported.

    >>> made("projector", {name: ["a"] for name, _ in columns_of("projector")}).num_rows
    1
    """
    types = {
        "label": DataType.string(),
        "string": DataType.string(),
        "int64": DataType.int64(),
        "float64": DataType.float64(),
    }
    arrays: dict[str, Any] = {}
    for name, type_ in columns_of(kind):
        array = Array(list(columns[name]), types[type_])
        arrays[name] = array.cast(_LABEL) if type_ == "label" else array
    return Table.from_pydict(arrays)


def of_rows(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table from rows of integers and strings.

    >>> of_rows([{"run": "a", "files": 2}]).column_names
    ['run', 'files']
    """
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    arrays: dict[str, Any] = {
        name: Array(
            values, DataType.int64() if any(isinstance(each, int) for each in values) else DataType.string()
        )
        for name, values in columns.items()
    }
    return Table.from_pydict(arrays)


def labels(names: Sequence[str | None]) -> Array:
    """A column of labels."""
    return Array(list(names), DataType.string()).cast(_LABEL)


def typed(table: Table, kind: str) -> Table:
    """The columns of a kind, in its order and with its types of strings; each label has one dictionary for all rows."""
    columns = columns_of(kind)
    table = table.select([name for name, _ in columns])
    for i, (name, type_) in enumerate(columns):
        if type_ in ("label", "string"):
            table = table.set_column(i, name, table.column(i).cast(DataType.string()))
    table = table.combine_chunks()
    for i, (name, type_) in enumerate(columns):
        if type_ == "label":
            table = table.set_column(i, name, table.column(i).cast(_LABEL))
    return table


def joined(tables: Sequence[Any]) -> Any:
    """The rows of several tables with the same columns, all of one library."""
    first = tables[0]
    if len(tables) == 1:
        return first
    batches = [batch for table in tables for batch in table.to_batches()]
    return type(first).from_batches(batches, schema=first.schema)


def having(table: Table, column: str, names: Container[str]) -> Table:
    """The rows whose label or string has one of these names."""
    values = values_of(table.column(column))
    return take(table, [row for row, name in enumerate(values) if name in names])


def take(table: Table, rows: Sequence[int]) -> Table:
    """These rows of a table, in this order."""
    if len(rows) == table.num_rows and list(rows) == list(range(table.num_rows)):
        return table
    if not rows:
        return table.slice(0, 0)
    (batch,) = table.combine_chunks().to_batches()
    return Table.from_batches([batch.take(Array(list(rows), DataType.int64()))], schema=table.schema)


def values_of(column: ChunkedArray | Array | pa.ChunkedArray) -> list[Any]:
    """A column as Python values."""
    if is_pyarrow(column) and str(column.type).startswith("dictionary<values=string"):
        column = ChunkedArray.from_arrow(column)  # seven times as fast
    return list(column.to_pylist())


def dicts_of(table: Arrow) -> list[dict[str, Any]]:
    """The rows as dicts."""
    names = table.column_names
    return [
        dict(zip(names, row, strict=True)) for columns in rows_of(table) for row in zip(*columns, strict=True)
    ]


def part(table: Arrow, begin: int, count: int) -> Any:
    """At most `count` rows, from the row `begin`."""
    begin = min(begin, table.num_rows)
    return table.slice(begin, min(count, table.num_rows - begin))


def rows_of(table: Arrow) -> Iterator[list[list[Any]]]:
    """The columns as lists of Python values, some thousand rows at a time."""
    for begin in range(0, table.num_rows, _PIECE):
        piece = part(table, begin, _PIECE)
        yield [values_of(piece.column(i)) for i in range(piece.num_columns)]


def numeric(table: Arrow) -> list[bool]:
    """For each column, whether it has numbers, which align to the right."""
    return [
        not values and (format in _INTEGERS or format in _FLOATS or format.startswith("d:"))
        for format, values in formats(table.schema)
    ]


def floating(table: Arrow) -> list[bool]:
    """For each column, whether it has floats."""
    return [not values and format in _FLOATS for format, values in formats(table.schema)]


def bytes_columns(table: Arrow) -> list[str]:
    """The names of the columns of bytes."""
    columns = zip(table.column_names, formats(table.schema), strict=True)
    return [name for name, (format, values) in columns if not values and format in _BYTES]


def to_pyarrow(table: Any) -> pa.Table:
    """The table as pyarrow's, without a copy.

    Uses no RecordBatchReader: if Python ends while a daemon thread releases one, pyarrow aborts the process.
    """
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    rows = pa.chunked_array(table)
    return pa.Table.from_struct_array(rows) if rows.num_chunks else pa.schema(list(rows.type)).empty_table()


def arrow_of(table: Any) -> Arrow:
    """The Arrow table of a Table, or of anything else with the Arrow PyCapsule."""
    held = getattr(table, "_source", table)  # of a Table
    if isinstance(held, Table):
        return held
    import pyarrow as pa

    return held if isinstance(held, pa.Table) else pa.table(held)


def is_pyarrow(value: object) -> bool:
    """Whether this is one of pyarrow's objects; does not import it."""
    return type(value).__module__.partition(".")[0] == "pyarrow"
