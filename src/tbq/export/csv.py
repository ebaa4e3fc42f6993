"""CSV and TSV by the native writer: RFC 4180 quoting, `nan` for NaN, empty for absent, lists as JSON."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tbq.arrow import Arrow, bytes_columns
from tbq.export.fit import refuse_bytes
from tbq.export.rows import csv_rows, write_rows

if TYPE_CHECKING:
    from tbq.export.options import ExportOptions

SEPARATORS = {"csv": ",", "tsv": "\t"}


def write(table: Arrow, stream: IO[bytes], options: ExportOptions) -> None:
    """Write a header and one line per row."""
    refuse_bytes(bytes_columns(table), options.format)
    separator = SEPARATORS[options.format]
    writer = csv_rows(table.column_names, separator, options)
    header = separator.join(writer.quoted(name) for name in table.column_names)
    stream.write(header.encode() + b"\n")
    write_rows(table, stream, writer, options)
