"""JSON: an array of objects (`json`) or one object per line (`jsonl`); NaN is null or a string, never bare."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tbq.arrow import Arrow, bytes_columns
from tbq.export.fit import refuse_bytes
from tbq.export.rows import json_rows, write_rows

if TYPE_CHECKING:
    from tbq.export.options import ExportOptions


def write(table: Arrow, stream: IO[bytes], options: ExportOptions) -> None:
    """Write one object per row."""
    refuse_bytes(bytes_columns(table), options.format)
    if options.format == "jsonl":
        write_rows(table, stream, json_rows(table.column_names, "", "}\n", options), options)
        return
    stream.write(b"[")
    write_rows(table, stream, json_rows(table.column_names, ",\n", "}", options), options)
    stream.write(b"]\n")
