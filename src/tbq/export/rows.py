"""Arrow tables as rows of text: passes the buffers of each column to the native writer, batch by batch."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from tbq._core import Cell, TextColumn, TextRows
from tbq.columns.times import is_wall_time
from tbq.export.fit import refuse_bytes as refuse_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq._core import Labels
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
    keys = [json.dumps(name, ensure_ascii=False) + ":" for name in names]
    before = [("," if i else "{") + key for i, key in enumerate(keys)]
    inside = _list_specials(options)
    return TextRows(True, ",", False, before, [between, row_end], ["null", *inside], inside)


def _list_specials(options: ExportOptions) -> list[str]:
    return ['"NaN"', '"Infinity"', '"-Infinity"'] if options.json_nan == "string" else ["null"] * 3


def write_rows(table: pa.Table, stream: IO[bytes], writer: TextRows, options: ExportOptions) -> None:
    """Write every row of the table to the stream."""
    for block in blocks(table, writer, options):
        stream.write(block)


def blocks(table: pa.Table, writer: TextRows, options: ExportOptions) -> Iterator[memoryview]:
    """The rows as blocks of text."""
    labels: dict[tuple[int, int, int], tuple[Labels, object]] = {}
    for batch in _batches(table):
        alive: list[object] = []
        columns = [
            _column(array, name, writer, labels, alive, options)
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        ]
        row = 0
        while row < batch.num_rows:
            row, text = writer.write(columns, row, batch.num_rows, _BLOCK)
            yield text


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The table in batches; many small chunks are joined first, some thousand rows at a time."""
    chunks = max((column.num_chunks for column in table.columns), default=0)
    if table.num_rows >= _SMALL * chunks:
        yield from table.to_batches()
        return
    for begin in range(0, table.num_rows, _JOINED):
        yield from table.slice(begin, _JOINED).combine_chunks().to_batches()


def _column(
    array: pa.Array,
    name: str,
    writer: TextRows,
    labels: dict[tuple[int, int, int], tuple[Labels, object]],
    alive: list[object],
    options: ExportOptions,
) -> TextColumn:
    """One array in the writer's form. Objects that must outlive the call go to `alive`."""
    import pyarrow as pa

    array, cell = _printable(array, options)
    if cell is Cell.raw and not writer.json:
        cell = Cell.text  # JSON inside CSV is quoted as text
    alive.append(array)
    narrow = not is_wall_time(name)
    valid, values = _addresses(array)[:2]
    if cell is Cell.label:
        strings = array.dictionary
        buffers = _addresses(strings)
        key = (buffers[1], strings.offset, len(strings))
        if key not in labels:
            large = pa.types.is_large_string(strings.type)
            native = writer.labels(buffers[2], buffers[1], strings.offset, len(strings), large)
            labels[key] = (native, strings)
        return TextColumn(cell, array.offset, valid, values, labels=labels[key][0])
    if cell in (Cell.text, Cell.raw):
        bytes_ = _addresses(array)[2]
        return TextColumn(
            cell, array.offset, valid, bytes_, values, large=pa.types.is_large_string(array.type)
        )
    if cell in (Cell.list_float64, Cell.list_int64):
        child = array.values
        width = 8 * child.offset
        data = _addresses(child)[1]
        large = pa.types.is_large_list(array.type)
        return TextColumn(cell, array.offset, valid, data + width, values, large=large, narrow=narrow)
    return TextColumn(cell, array.offset, valid, values, narrow=narrow)


def _addresses(array: pa.Array) -> list[int]:
    return [buffer.address if buffer is not None else 0 for buffer in array.buffers()]


def _printable(array: pa.Array, options: ExportOptions) -> tuple[pa.Array, Cell]:
    """The array in one of the layouts that the native writer supports."""
    import pyarrow as pa

    kind = array.type
    is_ = pa.types
    if is_.is_float64(kind):
        return array, Cell.float64
    if is_.is_floating(kind):
        return array.cast(pa.float64()), Cell.float64
    if is_.is_int64(kind):
        return array, Cell.int64
    if is_.is_uint64(kind):
        return array.cast(pa.string()), Cell.raw
    if is_.is_integer(kind):
        return array.cast(pa.int64()), Cell.int64
    if is_.is_boolean(kind):
        return array, Cell.boolean
    if is_.is_dictionary(kind):
        return _printable_dictionary(array, options)
    if is_.is_string(kind) or is_.is_large_string(kind):
        return array, Cell.text
    if is_.is_timestamp(kind):
        return array.cast(pa.timestamp("us")).view(pa.int64()), Cell.timestamp
    if is_.is_decimal(kind):
        return array.cast(pa.string()), Cell.raw
    if is_.is_list(kind) or is_.is_large_list(kind):
        listed = _printable_list(array)
        if listed is not None:
            return listed
    if is_.is_nested(kind):
        return _as_json(array, options)
    return array.cast(pa.large_string()), Cell.text


def _printable_dictionary(array: pa.Array, options: ExportOptions) -> tuple[pa.Array, Cell]:
    import pyarrow as pa

    strings = array.dictionary
    if not (pa.types.is_string(strings.type) or pa.types.is_large_string(strings.type)) or strings.null_count:
        return _printable(array.dictionary_decode(), options)
    if array.type.index_type != pa.int32():
        array = pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), strings)
    return array, Cell.label


def _printable_list(array: pa.Array) -> tuple[pa.Array, Cell] | None:
    """Lists of numbers without nulls; other lists go through JSON."""
    import pyarrow as pa

    inner = array.type.value_type
    if array.values.null_count or not (pa.types.is_floating(inner) or pa.types.is_integer(inner)):
        return None
    if pa.types.is_uint64(inner):
        return None
    integers = pa.types.is_integer(inner)
    make = pa.large_list if pa.types.is_large_list(array.type) else pa.list_
    wanted = make(pa.int64() if integers else pa.float64())
    cast = array if array.type == wanted else array.cast(wanted)
    return cast, Cell.list_int64 if integers else Cell.list_float64


def iso(array: pa.Array) -> pa.Array:
    """Timestamps as ISO 8601 text, in UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.strftime(array.cast(pa.timestamp("us")), format="%Y-%m-%dT%H:%M:%SZ")


def _as_json(array: pa.Array, options: ExportOptions) -> tuple[pa.Array, Cell]:
    import pyarrow as pa

    texts = [None if value is None else json_text(value, options) for value in array.to_pylist()]
    return pa.array(texts, pa.large_string()), Cell.raw


def json_text(value: Any, options: ExportOptions) -> str:
    """Any value as JSON, with NaN and infinities as the options say."""
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
