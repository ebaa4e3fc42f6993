"""HTML: a page with one table, or the table alone for notebooks."""

from __future__ import annotations

from html import escape
from typing import IO, TYPE_CHECKING

from tbq.export.cells import cell_rows, is_numeric

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from tbq.export.options import Options

_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2rem}"
    "table{border-collapse:collapse}th,td{padding:.25em .75em;border-bottom:1px solid #ddd;text-align:left}"
    "th{position:sticky;top:0;background:Canvas}td.n{text-align:right;font-variant-numeric:tabular-nums}"
)


def write(table: pa.Table, stream: IO[bytes], options: Options) -> None:
    """Write a whole page."""
    title = escape(options.kind if options.logdir is None else f"{options.kind} of {options.logdir}")
    stream.write(
        f"<!doctype html>\n<html><head><meta charset='utf-8'><title>{title}</title>"
        f"<style>{_STYLE}</style></head><body>\n".encode()
    )
    for part in table_html(table, options):
        stream.write(part.encode())
    stream.write(b"</body></html>\n")


def table_html(table: pa.Table, options: Options | None = None) -> Iterator[str]:
    """The `<table>` element in pieces, every text escaped."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    opens = ["<td class='n'>" if is_numeric(field.type) else "<td>" for field in table.schema]
    yield f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n"
    for row in cell_rows(table, options):
        cells = (f"{td}{escape(cell or '')}</td>" for td, cell in zip(opens, row, strict=True))
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody></table>\n"
