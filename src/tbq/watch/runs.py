"""What is known of each run, and how its state is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tbq.live.states import RunState
from tbq.plot.colours import AMBER, GREEN, GREY, RED
from tbq.text import natural

if TYPE_CHECKING:
    from tbq.live.states import State
    from tbq.live.view import LatestOfRun, Series


class Sign(NamedTuple):
    shape: str
    colour: str


#: Each state has a shape beside its colour: without colour the shapes still tell.
SIGNS: Mapping[State, Sign] = {
    "running": Sign("●", GREEN),
    "stalled": Sign("◐", AMBER),
    "finished": Sign("○", GREY),
    "failed": Sign("✕", RED),
}


#: Of a run that has not been read yet.
UNREAD = Sign("·", GREY)


@dataclass
class Run(RunState):
    """One run with its series, as of the last look."""

    scalars: dict[str, Series] = field(default_factory=dict)
    others: dict[tuple[str, str], Series] = field(default_factory=dict)  # by kind and tag

    def update(self, latest: LatestOfRun, now: float, first: bool) -> None:
        """Take what a look found; `first` if that is what was there before."""
        super().update(latest, now, first)
        self.scalars = {each.tag: each for each in latest.series if each.kind == "scalars"}
        self.others = {(each.kind, each.tag): each for each in latest.series if each.kind != "scalars"}


def tags_of(runs: Iterable[Run], kind: str = "scalars") -> list[str]:
    """All tags of one kind, `layer_9` before `layer_10`."""
    tags: set[str] = set()
    for run in runs:
        if kind == "scalars":
            tags.update(run.scalars)
        else:
            tags.update(tag for of_kind, tag in run.others if of_kind == kind)
    return sorted(tags, key=lambda tag: (natural(tag), tag))
