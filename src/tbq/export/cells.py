"""The cells of a table as short strings for people: Markdown, HTML, the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tbq._core import float_text
from tbq.columns.codes import values_of
from tbq.columns.times import is_wall_time
from tbq.export.options import ExportOptions
from tbq.export.rows import iso, json_text

_LOGGED = 9  # digits that a float32 needs at most
_COMPUTED = 6


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
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _texts(column: pa.Array, name: str, options: ExportOptions) -> list[str | None]:
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
        return number_text(value, narrow, options.digits if narrow else None)
    if isinstance(value, bytes):
        return f"<{len(value):,} bytes>"
    if isinstance(value, (list, dict)):
        return json_text(value, options)
    return str(value)


def number_text(value: float, narrow: bool = True, digits: int | None = None) -> str:
    """A number as people read it: the shortest text that reads back to what was logged, without an empty fraction.

    A number that needs more digits than a float32 has was computed (a mean, a difference): it gets six of them. All
    digits before the point stay. `narrow`: the value may be a float32, as most logged values are. `digits`: round to
    this many significant digits instead. A value that is not a number gives `NaN`.

    >>> number_text(16.0), number_text(0.1), number_text(-0.09000000000000001), number_text(1234567.891234)
    ('16', '0.1', '-0.09', '1234568')
    >>> number_text(0.82370764, digits=3), number_text(1.5e-07, digits=3), number_text(12345.6, digits=2)
    ('0.824', '1.5e-07', '12346')
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else str(value)
    text = float_text(value, narrow)
    significant = text.partition("e")[0].replace(".", "").lstrip("-0").rstrip("0")
    if narrow and (digits is not None or (len(significant) > _LOGGED and not value.is_integer())):
        before = len(str(int(abs(value)))) if 1 <= abs(value) < 1e15 else 0
        text = f"{value:.{max(digits or _COMPUTED, before)}g}"
    return text.removesuffix(".0")
