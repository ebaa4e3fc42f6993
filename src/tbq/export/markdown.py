"""Markdown tables as GitHub draws them."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tbq.export.cells import cell_rows, is_numeric

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.export.options import Options


def write(table: pa.Table, stream: IO[bytes], options: Options) -> None:
    """Write a header, a rule that aligns numbers to the right, and a line a row."""
    rule = ["---:" if is_numeric(field.type) else "---" for field in table.schema]
    stream.write(_line(table.column_names))
    stream.write(_line(rule))
    for row in cell_rows(table, options):
        stream.write(_line(row))


def _line(cells: list[str] | tuple[str | None, ...]) -> bytes:
    return ("| " + " | ".join(_escaped(cell or "") for cell in cells) + " |\n").encode()


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return text.replace("\r\n", "<br>").replace("\n", "<br>").replace("\r", "<br>")
