"""Lines of styled text for a terminal, measured in cells (a wide character takes two), and their escapes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len as cell_len
from rich.cells import set_cell_size

from tbq.text import GAP, printable, shortened

_LEVELS = (0, 95, 135, 175, 215, 255)  # brightness levels of the cube of 216 colours


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


def painted(lines: Iterable[Line], colour: bool, exact: bool | None = None) -> str:
    """The lines as text. `exact` is for terminals with 24 bits of colour; None follows COLORTERM.

    >>> painted([[Span("a", "#ff0000"), Span("b")]], True, exact=True)
    '\\x1b[38;2;255;0;0ma\\x1b[0mb'
    >>> painted([[Span("a", "#ff0000"), Span("b  ")]], False)
    'ab'
    """
    if not colour:
        return "\n".join(line.rstrip() for line in plain(lines).split("\n"))
    if exact is None:
        exact = os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    return "\n".join("".join(_painted(span, exact) for span in line) for line in lines)


def _painted(span: Span, exact: bool) -> str:
    codes = []
    if span.bold:
        codes.append("1")
    if span.dim:
        codes.append("2")
    if span.reverse:
        codes.append("7")
    if span.colour is not None:
        codes.append(f"38;{_code(span.colour, exact)}")
    if span.ground is not None:
        codes.append(f"48;{_code(span.ground, exact)}")
    return f"\x1b[{';'.join(codes)}m{span.text}\x1b[0m" if codes and span.text else span.text


def _code(colour: str, exact: bool) -> str:
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    if exact:
        return f"2;{parts[0]};{parts[1]};{parts[2]}"
    levels = [min(range(6), key=lambda i: abs(_LEVELS[i] - part)) for part in parts]
    return f"5;{16 + 36 * levels[0] + 6 * levels[1] + levels[2]}"
