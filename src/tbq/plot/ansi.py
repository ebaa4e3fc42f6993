"""Lines of styled text for a terminal: with escapes for colours, bold and dim, or without any."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tbq.plot.cells import Line, Span, plain

_LEVELS = (0, 95, 135, 175, 215, 255)  # brightness levels of the cube of 216 colours


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
