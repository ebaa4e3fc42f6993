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


class Look(NamedTuple):
    """A line's colour, dashes and marker."""

    colour: str
    dashes: Any = "-"
    marker: str = ""


def looks(colours: Mapping[str, str], varied: bool = False) -> dict[str, Look]:
    """The look of each group. With `varied`, dashes differ even if colours do, for grey prints and for similar colours.

    >>> [look.dashes for look in looks({"a": "red", "b": "blue", "c": "red"}).values()]
    ['-', '-', (0, (5, 1.5))]
    """
    chosen: dict[str, Look] = {}
    taken: set[Look] = set()
    for i, (name, colour) in enumerate(colours.items()):
        first = i if varied else 0
        options = (Look(colour, *_KINDS[(first + k) % len(_KINDS)]) for k in range(len(_KINDS)))
        look = next((each for each in options if each not in taken), Look(colour))
        taken.add(look)
        chosen[name] = look
    return chosen
