"""Lines of styled text for a terminal, measured in cells: a wide character takes two."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len as cell_len
from rich.cells import set_cell_size

from tbq.text import GAP, printable, shortened


class Span(NamedTuple):
    """A piece of a line in one style; `colour` is "#rrggbb", or None for the terminal's colour."""

    text: str
    colour: str | None = None
    bold: bool = False
    dim: bool = False
    reverse: bool = False
    ground: str | None = None  # the colour behind the text


Line = list[Span]


def plain(lines: Iterable[Line]) -> str:
    """The text without styles.

    >>> plain([[Span("a", bold=True), Span("b")], []])
    'ab\\n'
    """
    return "\n".join("".join(span.text for span in line) for line in lines)


def width(line: Line) -> int:
    """The number of cells of a line.

    >>> width([Span("損失"), Span("=1")])
    6
    """
    return sum(cell_len(span.text) for span in line)


def clipped(text: str, room: int) -> str:
    """A log's text in at most `room` cells, harmless; a long text keeps its start and end.

    >>> clipped("損失/訓練/loss", 10), clipped("loss", 10)
    ('損…/loss', 'loss')
    """
    text = printable(text)
    if cell_len(text) <= room:
        return text
    if room < 2:
        return GAP[:room]
    if text.isascii():
        return shortened(text, room)
    tail = (room - 1) * 2 // 3
    return f"{_start(text, room - 1 - tail)}{GAP}{_start(text[::-1], tail)[::-1]}"


def fitted(text: str, room: int, *, right: bool = False) -> str:
    """`clipped`, padded with spaces to exactly `room` cells.

    >>> fitted("loss", 6), fitted("12", 4, right=True)
    ('loss  ', '  12')
    """
    short = clipped(text, room)
    space = " " * (room - cell_len(short))
    return space + short if right else short + space


def filled(line: Line, room: int) -> Line:
    """The line in exactly `room` cells: cut, or padded with spaces."""
    out: Line = []
    remaining = room
    for span in line:
        size = cell_len(span.text)
        if size > remaining:
            if remaining:
                out.append(span._replace(text=set_cell_size(span.text, remaining)))
            return out
        out.append(span)
        remaining -= size
    if remaining:
        out.append(Span(" " * remaining))
    return out


def beside(left: Line, right: Line, room: int) -> Line:
    """Two ends of one line of `room` cells; if they do not fit, the left end is cut."""
    space = room - width(right)
    if space <= 0:
        return filled(right, room)
    return [*filled(left, space), *right]


def _start(text: str, room: int) -> str:
    used = 0
    for at, letter in enumerate(text):
        used += cell_len(letter)
        if used > room:
            return text[:at]
    return text
