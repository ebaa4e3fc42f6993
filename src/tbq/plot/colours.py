"""Colours with a meaning: one for each run by its name, one for each state."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

#: Tableau's ten, which differ on dark and on light backgrounds; the first six differ most.
PALETTE = (
    "#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#b07aa1", "#edc948", "#9c755f", "#ff9da7", "#bab0ac",
)  # fmt: skip
_FIRST = 6
GREEN, AMBER, RED, GREY = "#59a14f", "#edc948", "#e15759", "#8a8a8a"


def colours(names: Iterable[str], palette: Sequence[str] = PALETTE) -> dict[str, str]:
    """A colour for each name; the names come in the order in which their runs began.

    A name has its own colour, unless an earlier name took it: then it gets the next free colour. The first six colours
    are used first, then the other four, then a new round begins. So later names change no colour, and the same names
    have the same colours tomorrow.

    >>> few = colours(["lr=0.1", "lr=0.03"])
    >>> more = colours(["lr=0.1", "lr=0.03", "lr=0.01"])
    >>> few["lr=0.03"] == more["lr=0.03"], len(set(more.values()))
    (True, 3)
    """
    chosen: dict[str, str] = {}
    free: list[int] = []
    rounds = 0
    for name in dict.fromkeys(names):
        if not free:
            free = list(range(_FIRST) if rounds % 2 == 0 else range(_FIRST, len(palette)))
            rounds += 1
        size, first = (_FIRST, 0) if rounds % 2 else (len(palette) - _FIRST, _FIRST)
        place = first + zlib.crc32(name.encode("utf-8", "surrogatepass")) % size
        while place not in free:
            place = first + (place - first + 1) % size
        free.remove(place)
        chosen[name] = palette[place]
    return chosen


#: The same ten, darker, for thin lines on white.
PRINTED = (
    "#3b6a9c", "#d97706", "#c8373a", "#2f9189", "#3f8a36", "#8f5a86", "#b38f00", "#7d5a45", "#e0607a", "#7f7672",
)  # fmt: skip
# Viridis from dark to light, without the yellow that disappears on white.
_VIRIDIS = (
    (68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141), (39, 173, 129), (92, 200, 99),
    (170, 220, 50), (253, 231, 37),
)  # fmt: skip


def print_colours(names: Iterable[str]) -> dict[str, str]:
    """Like `colours`, for a white background: a name has the same hue in both."""
    return colours(names, PRINTED)


def ordinal(names: Sequence[str], dark: bool = False) -> dict[str, str]:
    """Colours of viridis for names that have an order.

    >>> ordinal(["lr=0.01", "lr=0.1", "lr=1"])["lr=0.01"]
    '#440154'
    """
    last = max(len(names) - 1, 1)
    begin, end = (0.4, 1.0) if dark else (0.0, 0.82)  # the part that contrasts with the background
    return {name: viridis(begin + (end - begin) * i / last) for i, name in enumerate(names)}


def viridis(share: float) -> str:
    """The colour at a share of viridis, 0 to 1.

    >>> viridis(0.0), viridis(1.0)
    ('#440154', '#fde725')
    """
    place = min(max(share, 0.0), 1.0) * (len(_VIRIDIS) - 1)
    low = min(int(place), len(_VIRIDIS) - 2)
    part = place - low
    mixed = (round(a + (b - a) * part) for a, b in zip(_VIRIDIS[low], _VIRIDIS[low + 1], strict=True))
    return "#{:02x}{:02x}{:02x}".format(*mixed)
