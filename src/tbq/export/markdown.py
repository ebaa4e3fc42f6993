"""Markdown: tables as GitHub renders them, and texts of a log as documents that run nothing when opened."""

from __future__ import annotations

import html
import re
from typing import IO, TYPE_CHECKING

from tbq.arrow import Arrow
from tbq.export.cells import cell_rows, numeric_columns
from tbq.text import page

if TYPE_CHECKING:
    from tbq.export.options import ExportOptions

# Starts of links, images, code or emphasis; an underscore inside a word is not one.
_SYNTAX = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
# The end of a link's text, or of a reference's name, and the start of its target (quotations have > in each line).
_TARGET = re.compile(r"\]([(:])")
_BEGIN = re.compile(r"[ \t\n>]*+([^/?#:&\\<>()\[\]\s]{0,64}+)(.?)", re.DOTALL)
_SPELLED = 128  # characters within which the scheme of an obfuscated target must end
_SCHEMES = ("http", "https", "mailto")


def write(table: Arrow, stream: IO[bytes], options: ExportOptions) -> None:
    """Write a header, a rule that aligns numbers to the right, and one line per row."""
    rule = ["---:" if number else "---" for number in numeric_columns(table)]
    stream.write(_line([literal(name) for name in table.column_names]))
    stream.write(_line(rule))
    for row in cell_rows(table, options):
        stream.write(_line([literal(cell or "") for cell in row]))


def _line(cells: list[str]) -> bytes:
    return ("| " + " | ".join(cells) + " |\n").encode()


def literal(text: str) -> str:
    """A text as one cell that shows it literally: no link, image or element results.

    >>> print(literal("[x](javascript:run) <b> train/loss_mean"))
    \\[x\\](javascript:run) &lt;b> train/loss_mean
    """
    text = _ENTITY.sub("&amp;", page(text.replace("\r\n", "\n").replace("\r", "\n")))
    return _SYNTAX.sub(r"\\\g<0>", text).replace("<", "&lt;").replace("\n", "<br>")


def inert(text: str) -> str:
    """A Markdown document that loads and runs nothing: images, HTML and odd links show as typed.

    Links to `http`, `https` and `mailto` stay, and links without a scheme.

    >>> print(inert("*see* [a](https://a.example) ![b](https://b.example/x.png) [c](javascript:run)"))
    *see* [a](https://a.example) !\\[b](https://b.example/x.png) [c]\\(javascript:run)
    """
    text = _TAG.sub("&lt;", page(text)).replace("![", "!\\[")
    return _TARGET.sub(lambda end: end[0] if _is_plain(text, end.end()) else f"]\\{end[1]}", text)


def _is_plain(text: str, at: int) -> bool:
    """Whether the link target at `at` leads to the web or has no scheme, however it is spelled."""
    begin = _BEGIN.match(text, at)
    assert begin is not None
    scheme, end = begin.groups()
    if end in ("&", "\\", "<"):
        rest = text[begin.start(1) : begin.start(1) + _SPELLED]
        target = rest.partition(">")[0] if end == "<" else re.split(r"[\s)]", rest, maxsplit=1)[0]
        spelled = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", html.unescape(target))
        scheme, end = re.findall(r"([^/?#:]*)(.?)", re.sub(r"[\x00-\x20\x7f-\xa0\ufffd]", "", spelled))[0]
        if not end and len(rest) == _SPELLED == len(target):
            return False
    return end != ":" or scheme.lower() in _SCHEMES
