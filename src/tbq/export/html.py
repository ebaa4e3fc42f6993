"""HTML: a page with one table, or only the table for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import IO, TYPE_CHECKING

from tbq.arrow import Arrow, bytes_columns
from tbq.export.cells import cell_rows, numeric_columns
from tbq.text import page

if TYPE_CHECKING:
    from tbq.export.options import ExportOptions

_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2rem}"
    "table{border-collapse:collapse}th,td{padding:.25em .75em;border-bottom:1px solid #ddd;text-align:left}"
    "th{position:sticky;top:0;background:Canvas}td.n{text-align:right;font-variant-numeric:tabular-nums}"
)


def write(table: Arrow, stream: IO[bytes], options: ExportOptions) -> None:
    """Write a full page."""
    title = _text(options.kind if options.logdir is None else f"{options.kind} of {options.logdir}")
    stream.write(
        f"<!doctype html>\n<html><head><meta charset='utf-8'><title>{title}</title>"
        f"<style>{_STYLE}</style></head><body>\n".encode()
    )
    for part in table_html(table, options):
        stream.write(part.encode())
    stream.write(b"</body></html>\n")


def table_html(
    table: Arrow,
    options: ExportOptions | None = None,
    beside: Callable[[int, int], str] | None = None,
    dates: bool = False,
) -> Iterator[str]:
    """The `<table>` element in pieces, every text escaped and without control characters.

    `beside` returns the markup after the text of a cell, by its row and column; `dates` shows wall times as dates.
    """
    marks = [" class='n'" if number else "" for number in numeric_columns(table, dates)]
    heads = "".join(
        f"<th{mark}>{_text(name)}</th>" for name, mark in zip(table.column_names, marks, strict=True)
    )
    opens = [f"<td{mark}>" for mark in marks]
    yield f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n"
    pictures = [i for i, name in enumerate(table.column_names) if name in bytes_columns(table)]
    for n, row in enumerate(cell_rows(table, options, dates)):
        texts = [_text(cell or "") for cell in row]
        for i in pictures:
            texts[i] = _picture(table.column(i)[n].as_py()) or texts[i]
        if beside is not None:
            texts = [text + beside(n, i) for i, text in enumerate(texts)]
        yield f"<tr>{''.join(f'{td}{text}</td>' for td, text in zip(opens, texts, strict=True))}</tr>\n"
    yield "</tbody></table>\n"


def _text(text: str) -> str:
    return escape(page(text))


def _picture(data: bytes | None) -> str | None:
    """A thumbnail, if the bytes are an image."""
    from tbq.export.pictures import sniff, thumbnail

    return None if sniff(data) is None else thumbnail(data)
