"""Arrow tables as rows of text: passes each column to the native writer, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from arro3.core import Array, DataType

from tbq._core import TextColumn, TextRows
from tbq.arrow import Arrow, part
from tbq.columns.times import is_wall_time

if TYPE_CHECKING:
    import pyarrow as pa
    from arro3.core import RecordBatch

    from tbq.export.options import ExportOptions

_BLOCK = 1 << 18
# If chunks have fewer rows than `_SMALL` on average, they are joined into batches of `_JOINED`.
_SMALL, _JOINED = 1 << 12, 1 << 18


def csv_rows(names: list[str], separator: str, options: ExportOptions) -> TextRows:
    """The writer of CSV rows, with `separator` between cells."""
    before = ["", *[separator] * (len(names) - 1)][: len(names)]
    specials = ["", "nan", "inf", "-inf"]
    return TextRows(False, separator, options.csv_safe, before, ["", "\n"], specials, _list_specials(options))


def json_rows(names: list[str], between: str, row_end: str, options: ExportOptions) -> TextRows:
    """The writer of JSON objects, one per row."""
    import json

    keys = [json.dumps(name, ensure_ascii=False) + ":" for name in names]
    before = [("," if i else "{") + key for i, key in enumerate(keys)]
    inside = _list_specials(options)
    return TextRows(True, ",", False, before, [between, row_end], ["null", *inside], inside)


def _list_specials(options: ExportOptions) -> list[str]:
    return ['"NaN"', '"Infinity"', '"-Infinity"'] if options.json_nan == "string" else ["null"] * 3


def write_rows(table: Arrow, stream: IO[bytes], writer: TextRows, options: ExportOptions) -> None:
    """Write every row of the table to the stream."""
    for block in blocks(table, writer, options):
        stream.write(block)


def blocks(table: Arrow, writer: TextRows, options: ExportOptions) -> Iterator[memoryview]:
    """The rows as blocks of text."""
    for batch in _batches(table):
        columns = [
            _column(array, name, writer, options)
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        ]
        row = 0
        while row < batch.num_rows:
            row, text = writer.write(columns, row, batch.num_rows, _BLOCK)
            yield text


def _batches(table: Arrow) -> Iterator[RecordBatch | pa.RecordBatch]:
    """The table in batches; many small chunks are joined first, some thousand rows at a time."""
    chunks = max((column.num_chunks for column in table.columns), default=0)
    if table.num_rows >= _SMALL * chunks:
        yield from table.to_batches()
        return
    for begin in range(0, table.num_rows, _JOINED):
        yield from part(table, begin, _JOINED).combine_chunks().to_batches()


def _column(array: Any, name: str, writer: TextRows, options: ExportOptions) -> TextColumn:
    """One array as a column of the writer."""
    narrow = not is_wall_time(name)
    column = writer.column(array, narrow=narrow)
    if column is None:
        array, raw = _printable(array, options)
        # JSON inside CSV is quoted as text.
        column = writer.column(array, raw=raw and writer.json, narrow=narrow)
        assert column is not None
    return column


def _printable(array: Any, options: ExportOptions) -> tuple[Any, bool]:
    """An array of a type that the writer lacks as one that it has; and whether it is JSON or a number already.

    Few tables of tbq have such a column: most come from queries and from files of other programs.
    """
    import pyarrow as pa

    array = pa.array(array)
    kind = array.type
    is_ = pa.types
    if is_.is_floating(kind):
        return array.cast(pa.float64()), False
    if is_.is_uint64(kind) or is_.is_decimal(kind):
        return array.cast(pa.string()), True
    if is_.is_integer(kind):
        return array.cast(pa.int64()), False
    if is_.is_dictionary(kind):
        return _printable_dictionary(array, options)
    if is_.is_timestamp(kind):
        return array.cast(pa.timestamp("us")), False
    if is_.is_list(kind) or is_.is_large_list(kind):
        numbers = _printable_list(array)
        if numbers is not None:
            return numbers, False
    if is_.is_nested(kind):
        return _as_json(array, options), True
    return array.cast(pa.large_string()), False


def _printable_dictionary(array: pa.Array, options: ExportOptions) -> tuple[pa.Array, bool]:
    import pyarrow as pa

    strings = array.dictionary
    if not (pa.types.is_string(strings.type) or pa.types.is_large_string(strings.type)) or strings.null_count:
        decoded = array.dictionary_decode()
        plain = (pa.string(), pa.large_string(), pa.float64(), pa.int64(), pa.bool_())
        return (decoded, False) if decoded.type in plain else _printable(decoded, options)
    return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), strings), False


def _printable_list(array: pa.Array) -> pa.Array | None:
    """Lists of numbers without nulls; other lists go through JSON."""
    import pyarrow as pa

    inner = array.type.value_type
    if array.values.null_count or not (pa.types.is_floating(inner) or pa.types.is_integer(inner)):
        return None
    if pa.types.is_uint64(inner):
        return None
    make = pa.large_list if pa.types.is_large_list(array.type) else pa.list_
    return array.cast(make(pa.int64() if pa.types.is_integer(inner) else pa.float64()))


def iso(array: Any) -> Any:
    """Timestamps as ISO 8601 text, in UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.strftime(array.cast(pa.timestamp("us")), format="%Y-%m-%dT%H:%M:%SZ")


def _as_json(array: Any, options: ExportOptions) -> Array:
    texts = [None if value is None else json_text(value, options) for value in array.to_pylist()]
    return Array(texts, DataType.large_string())


def json_text(value: Any, options: ExportOptions) -> str:
    """Any value as JSON, with NaN and infinities as the options say."""
    import json

    return json.dumps(_finite(value, options), ensure_ascii=False, separators=(",", ":"), default=str)


def _finite(value: Any, options: ExportOptions) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        if options.json_nan == "null":
            return None
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {key: _finite(item, options) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item, options) for item in value]
    return value
