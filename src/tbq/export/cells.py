"""The cells of a table as short strings for people: Markdown, HTML, the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tbq._core import float_text
from tbq.columns.times import is_wall_time
from tbq.export.options import ExportOptions
from tbq.export.rows import iso, json_text

if TYPE_CHECKING:
    import pyarrow as pa


def cell_rows(table: pa.Table, options: ExportOptions | None = None) -> Iterator[tuple[str | None, ...]]:
    """Every row as strings; an absent value is None."""
    options = options or ExportOptions()
    for batch in table.to_batches(max_chunksize=1 << 14):
        columns = [
            _texts(a, name, options) for a, name in zip(batch.columns, batch.schema.names, strict=True)
        ]
        yield from zip(*columns, strict=True)


def is_numeric(kind: pa.DataType) -> bool:
    """Whether cells of this type align to the right."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _texts(column: pa.Array, name: str, options: ExportOptions) -> list[str | None]:
    import pyarrow as pa

    from tbq.columns.codes import values_of

    if pa.types.is_timestamp(column.type):
        column = iso(column)
    narrow = not is_wall_time(name)
    return [None if value is None else _text(value, narrow, options) for value in values_of(column)]


def _text(value: Any, narrow: bool, options: ExportOptions) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value, narrow) if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return f"<{len(value):,} bytes>"
    if isinstance(value, (list, dict)):
        return json_text(value, options)
    return str(value)
