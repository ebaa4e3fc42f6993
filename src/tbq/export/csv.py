"""CSV and TSV by the native writer: RFC 4180 quoting, `nan` for NaN, empty for absent, lists as JSON."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tbq.export.rows import csv_rows, refuse_bytes, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.export.options import ExportOptions

SEPARATORS = {"csv": ",", "tsv": "\t"}


def write(table: pa.Table, stream: IO[bytes], options: ExportOptions) -> None:
    """Write a header and one line per row."""
    refuse_bytes(table.schema, options.format)
    separator = SEPARATORS[options.format]
    writer = csv_rows(table.column_names, separator, options)
    header = separator.join(writer.quoted(name) for name in table.column_names)
    stream.write(header.encode() + b"\n")
    write_rows(table, stream, writer, options)
