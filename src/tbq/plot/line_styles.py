"""How the lines of groups differ: by colour, then by dashes, then by markers; no two groups look alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: Dashes and markers that people can tell apart at the width of a line.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
MARKERS = ("", "o", "s", "^", "D", "v")
_KINDS = [(dashes, marker) for marker in MARKERS for dashes in DASHES]
#: The most groups that one panel shows in lines that differ enough.
MOST = 20


class LineStyle(NamedTuple):
    """A line's colour, dashes and marker."""

    colour: str
    dashes: Any = "-"
    marker: str = ""


def line_styles(colours: Mapping[str, str], varied: bool = False) -> dict[str, LineStyle]:
    """The line style of each group. With `varied`, dashes differ even if colours do: for grey prints, similar colours.

    >>> [style.dashes for style in line_styles({"a": "red", "b": "blue", "c": "red"}).values()]
    ['-', '-', (0, (5, 1.5))]
    """
    chosen: dict[str, LineStyle] = {}
    used: set[LineStyle] = set()
    for i, (name, colour) in enumerate(colours.items()):
        first = i if varied else 0
        options = (LineStyle(colour, *_KINDS[(first + k) % len(_KINDS)]) for k in range(len(_KINDS)))
        line_style = next((each for each in options if each not in used), LineStyle(colour))
        used.add(line_style)
        chosen[name] = line_style
    return chosen
