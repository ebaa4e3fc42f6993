"""Colours that mean something: one for each run by its name, one for each state."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

#: Tableau's ten, which can be told apart on dark and on light ground.
PALETTE = (
    "#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac",
)  # fmt: skip
GREEN, AMBER, RED, GREY = "#59a14f", "#edc948", "#e15759", "#8a8a8a"


def colours(names: Iterable[str], palette: Sequence[str] = PALETTE) -> dict[str, str]:
    """A colour for each name, given in the order in which they came to be.

    A name has its own colour, unless an earlier one took it: then it gets the next free one; when all are taken, the
    next round begins. So names that come later change no colour, and the same names have the same colours tomorrow.

    >>> few = colours(["lr=0.1", "lr=0.03"])
    >>> more = colours(["lr=0.1", "lr=0.03", "lr=0.01"])
    >>> few["lr=0.03"] == more["lr=0.03"], len(set(more.values()))
    (True, 3)
    """
    count = len(palette)
    taken: dict[str, str] = {}
    free = set(range(count))
    for name in dict.fromkeys(names):
        place = zlib.crc32(name.encode("utf-8", "surrogatepass")) % count
        while place not in free:
            place = (place + 1) % count
        free.discard(place)
        taken[name] = palette[place]
        if not free:
            free = set(range(count))
    return taken
