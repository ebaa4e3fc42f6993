"""The cells of a table as short strings for people: Markdown, HTML, the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tbq._core import float_text, formats
from tbq.arrow import Arrow, floating, numeric, rows_of
from tbq.columns.times import date_text, is_wall_time
from tbq.export.options import ExportOptions
from tbq.export.rows import iso, json_text

_LOGGED = 9  # digits that a float32 needs at most
_COMPUTED = 6


def cell_rows(
    table: Arrow, options: ExportOptions | None = None, dates: bool = False
) -> Iterator[tuple[str | None, ...]]:
    """Every row as strings; an absent value is None. `dates` shows wall times as dates, to the second."""
    options = options or ExportOptions()
    for i, (format, _) in enumerate(formats(table.schema)):
        if format.startswith("ts"):
            table = table.set_column(i, table.column_names[i], iso(table.column(i)))
    names, dated = table.column_names, _dated(table, dates)
    for columns in rows_of(table):
        texts = [
            [None if value is None else date_text(value) for value in column]
            if is_date
            else _texts(column, not is_wall_time(name), options)
            for column, name, is_date in zip(columns, names, dated, strict=True)
        ]
        yield from zip(*texts, strict=True)


def numeric_columns(table: Arrow, dates: bool = False) -> list[bool]:
    """For each column, whether its cells are numbers, which align to the right."""
    both = zip(numeric(table), _dated(table, dates), strict=True)
    return [number and not is_date for number, is_date in both]


def _dated(table: Arrow, dates: bool) -> list[bool]:
    """For each column, whether it shows wall times as dates."""
    both = zip(table.column_names, floating(table), strict=True)
    return [dates and number and is_wall_time(name) for name, number in both]


def _texts(values: list[Any], narrow: bool, options: ExportOptions) -> list[str | None]:
    return [None if value is None else _text(value, narrow, options) for value in values]


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
