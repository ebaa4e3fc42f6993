"""Writes rows as they come: CSV, TSV or JSON Lines, each block in one write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

from tbq.arguments import choice
from tbq.columns.times import with_time
from tbq.export.csv import SEPARATORS
from tbq.export.fit import that_fit
from tbq.export.options import ExportOptions
from tbq.export.rows import blocks, csv_rows, json_rows

if TYPE_CHECKING:
    import pyarrow as pa

#: The formats to which rows can be appended.
FORMATS = ("csv", "tsv", "jsonl")


class RowStream:
    """Writes tables one after the other to a binary stream, and flushes after each; leaves out columns of bytes.

    >>> import io, pyarrow as pa
    >>> stream = RowStream(io.BytesIO(), ExportOptions(format="csv"))
    >>> for step in range(2):
    ...     stream.write(pa.table({"step": [step], "value": [0.5]}))
    >>> stream.stream.getvalue()
    b'step,value\\n0,0.5\\n1,0.5\\n'
    """

    def __init__(self, stream: IO[bytes], options: ExportOptions) -> None:
        choice("format", options.format, FORMATS)
        self.stream = stream
        self._options = options
        self._headed = False

    def write(self, table: pa.Table, began: Mapping[str, float] | None = None) -> None:
        """Add the rows of a table; the first table writes the header of CSV, even without rows."""
        format = self._options.format
        table = that_fit({self._options.kind: table}, format, quiet=True)[self._options.kind]
        table = with_time(table, self._options.time, began)
        text = bytearray()
        if format == "jsonl":
            writer = json_rows(table.column_names, "", "}\n", self._options)
        else:
            writer = csv_rows(table.column_names, SEPARATORS[format], self._options)
            if not self._headed:
                header = SEPARATORS[format].join(writer.quoted(name) for name in table.column_names)
                text += header.encode() + b"\n"
            self._headed = True
        for block in blocks(table, writer, self._options):
            text += block
            if len(text) > 1 << 20:
                self._send(text)
        self._send(text)

    def _send(self, text: bytearray) -> None:
        if text:
            self.stream.write(bytes(text))
            self.stream.flush()
            text.clear()
