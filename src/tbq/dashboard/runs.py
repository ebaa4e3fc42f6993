"""The data of each run, and the signs for its state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tbq.following import states
from tbq.following.states import RunState
from tbq.plot.colours import AMBER, GREEN, GREY, RED
from tbq.roles import main_first
from tbq.states import GLYPHS
from tbq.text import natural

if TYPE_CHECKING:
    from tbq.following.states import State
    from tbq.following.view import LatestOfRun, LatestOfSeries


class Sign(NamedTuple):
    shape: str
    colour: str


#: Each state has its own shape as well as its colour, for terminals without colour.
SIGNS: Mapping[State, Sign] = {
    "running": Sign(GLYPHS["running"], GREEN),
    "stalled": Sign(GLYPHS["stalled"], AMBER),
    "finished": Sign(GLYPHS["finished"], GREY),
    "crashed": Sign(GLYPHS["crashed"], RED),
    "diverged": Sign(GLYPHS["diverged"], RED),
}


#: The sign of a run that has not been read yet.
UNREAD = Sign(states.UNREAD, GREY)


@dataclass
class ShownRun(RunState):
    """One run with its series, as of the last poll."""

    scalars: dict[str, LatestOfSeries] = field(default_factory=dict)
    non_scalars: dict[tuple[str, str], LatestOfSeries] = field(default_factory=dict)  # by kind and tag

    def update(self, latest: LatestOfRun, now: float, is_backlog: bool = False) -> None:
        """Apply a poll's result."""
        super().update(latest, now, is_backlog)
        self.scalars = {each.tag: each for each in latest.series if each.kind == "scalars"}
        self.non_scalars = {(each.kind, each.tag): each for each in latest.series if each.kind != "scalars"}


def tags_of(runs: Iterable[ShownRun], kind: str = "scalars") -> list[str]:
    """All tags of one kind, `layer_9` before `layer_10`; of scalars, losses and scores first (`roles.main_first`)."""
    most: dict[str, int] = {}  # the most values that any run has, by tag
    for run in runs:
        series = run.scalars.values() if kind == "scalars" else run.non_scalars.values()
        for each in series:
            if each.kind == kind:
                most[each.tag] = max(most.get(each.tag, 0), each.rows)
    names = sorted(most, key=lambda tag: (natural(tag), tag))
    return sorted(names, key=lambda tag: main_first(tag, most[tag] < 2)) if kind == "scalars" else names
