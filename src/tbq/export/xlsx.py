"""Excel workbooks, one sheet per table; every string is a string cell, so that none becomes a formula."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from tbq.errors import OutputError, missing, warn
from tbq.export.cells import cell_rows
from tbq.export.fit import refuse_bytes
from tbq.export.rows import json_text
from tbq.scratch import temporary

if TYPE_CHECKING:
    from pathlib import Path

    from tbq.export.options import ExportOptions

_SAMPLE = 200  # rows that the width of a column is computed from
_WIDEST = 60
_LONG = 11  # characters of a number
MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 1_048_576, 16_384, 32_767

# Characters that XML cannot hold, and characters that a sheet's name cannot hold.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# XML readers turn an unescaped carriage return into a line feed, and openpyxl does not escape it. A noncharacter,
# which no cell's text contains, stands for it until the archive is written.
_RETURN = "\ufffe"
_EPOCH = datetime(1980, 1, 1)  # the first date of a ZIP archive: the same table gives the same bytes
_SHEET = re.compile(r"[\[\]:*?/\\']")


def write_many(tables: dict[str, pa.Table], stream: IO[bytes], options: ExportOptions) -> None:
    """Write one sheet per table."""
    try:
        from openpyxl import Workbook
        from openpyxl.utils import get_column_letter
        from openpyxl.writer.excel import ExcelWriter
    except ImportError:
        raise missing("openpyxl", needed_for="writing xlsx", extra="xlsx") from None

    for name, table in tables.items():
        _check_fits(name, table)
    book = Workbook(write_only=True)
    titles: set[str] = set()
    cut = 0
    with temporary("xlsx") as scratch:
        for number, (name, table) in enumerate(tables.items()):
            sheet = book.create_sheet(_title(name, titles))
            sheet.freeze_panes = "A2"
            sheet.auto_filter.ref = f"A1:{get_column_letter(table.num_columns or 1)}{table.num_rows + 1}"
            for i, width in enumerate(_widths(table), 1):
                sheet.column_dimensions[get_column_letter(i)].width = width
            _write_to(sheet, scratch.folder / str(number))
            cell = _Cells(sheet, options)
            sheet.append([cell.head(column) for column in table.column_names])
            for row in _rows(table):
                sheet.append([cell(value) for value in row])
            cut += cell.cut
        # openpyxl leaves its archive open when a write fails; a sheet fits into memory, so it is written there.
        workbook = io.BytesIO()
        with _Archive(workbook, "w", zipfile.ZIP_DEFLATED) as archive:
            book.properties.created = book.properties.modified = _EPOCH
            ExcelWriter(book, archive).write_data()
    stream.write(workbook.getbuffer())
    if cut:
        warn(f"xlsx: {cut:,} texts were cut to {MAX_TEXT:,} characters, the limit of a cell")


class _Archive(zipfile.ZipFile):
    """An archive without timestamps."""

    def writestr(self, zinfo_or_arcname: Any, data: Any, *_: Any, **__: Any) -> None:
        content = data.encode() if isinstance(data, str) else data
        entry = zipfile.ZipInfo(zinfo_or_arcname, _EPOCH.timetuple()[:6])
        super().writestr(entry, content.replace(_RETURN.encode(), b"&#13;"), self.compression)

    def write(self, filename: Any, arcname: Any = None, *_: Any, **__: Any) -> None:
        with open(filename, "rb") as file:
            self.writestr(arcname, file.read())


def _write_to(sheet: Any, path: Path) -> None:
    """Make openpyxl collect a sheet in this file: its own temporary files outlive a killed process."""
    from openpyxl.worksheet._writer import WorksheetWriter

    class Writer(WorksheetWriter):  # type: ignore[misc]
        def cleanup(self) -> None:
            """Leave the file: the owner of the folder removes it."""

    sheet._writer = Writer(sheet, str(path))
    sheet._writer.write_top()


def _check_fits(name: str, table: pa.Table) -> None:
    if table.num_rows >= MAX_ROWS or table.num_columns > MAX_COLUMNS:
        raise OutputError(
            f"{name} has {table.num_rows:,} rows and {table.num_columns:,} columns; "
            f"an xlsx sheet holds {MAX_ROWS - 1:,} and {MAX_COLUMNS:,}",
            hint="write .csv or .parquet, choose fewer (--run, --tag, --steps), or --layout wide, summary",
        )
    refuse_bytes(table.schema, "xlsx")


def _title(name: str, used: set[str]) -> str:
    base = _SHEET.sub("_", name)[:31] or "table"
    title, n = base, 2
    while title.lower() in used:
        title = f"{base[: 31 - len(str(n)) - 1]}_{n}"
        n += 1
    used.add(title.lower())
    return title


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    from tbq.columns.codes import values_of

    for batch in table.to_batches(max_chunksize=1 << 14):
        yield from zip(*(values_of(column) for column in batch.columns), strict=True)


def _widths(table: pa.Table) -> list[int]:
    """The width of each column in characters, by its name and its first rows; a filter's button takes two."""
    rows = list(cell_rows(table.slice(0, _SAMPLE)))
    columns = zip(*rows, strict=True) if rows else [()] * table.num_columns
    return [
        min(max([len(name) + 3, *(len(text or "") + 1 for text in texts)]), _WIDEST)
        for name, texts in zip(table.column_names, columns, strict=True)
    ]


class _Cells:
    """Makes cells of values, and counts the texts that were too long."""

    def __init__(self, sheet: Any, options: ExportOptions) -> None:
        from openpyxl import LXML
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.styles import Font

        self._bold = Font(bold=True)
        self._make = WriteOnlyCell
        self._sheet = sheet
        self._options = options
        self._return = "\r" if LXML else _RETURN  # lxml escapes it
        self.cut = 0

    def __call__(self, value: Any) -> Any:
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            # A sheet's numbers are doubles: larger integers become text.
            return self._formatted(value, "#,##0") if abs(value) <= 2**53 else self._string(str(value))
        if isinstance(value, float):
            return self._number(value) if math.isfinite(value) else self._string(str(value))
        if isinstance(value, datetime):
            plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return self._formatted(plain, "yyyy-mm-dd hh:mm:ss")
        if isinstance(value, str):
            return self._string(value)
        return self._string(json_text(value, self._options))

    def head(self, name: str) -> Any:
        """The cell of a column's name."""
        cell = self._string(name)
        cell.font = self._bold
        return cell

    def _formatted(self, value: int | datetime, number_format: str) -> Any:
        cell = self._make(self._sheet, value)
        cell.number_format = number_format
        return cell

    def _number(self, value: float) -> Any:
        cell = self._make(self._sheet, 0.0)
        cell._value = repr(value)  # openpyxl would print 16 digits; some doubles need 17
        if 0.001 <= abs(value) < 1e9 and len(cell._value) > _LONG:  # shorter numbers show as they are
            cell.number_format = "0.######"
        return cell

    def _string(self, text: str) -> Any:
        if len(text) > MAX_TEXT:
            self.cut += 1
            text = text[:MAX_TEXT]
        cell = self._make(self._sheet, _CONTROL.sub("\ufffd", text).replace("\r", self._return))
        cell.data_type = "s"  # openpyxl would make a formula of `=…`
        return cell
