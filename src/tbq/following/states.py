"""What is known about a followed run; its state follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tbq.states import STALLED_AFTER, STATES, Facts, State, is_diverged, states_of

if TYPE_CHECKING:
    from tbq.following.view import LatestOfRun

__all__ = ["STALLED_AFTER", "STATES", "RunState", "State", "states_now"]
UNREAD = "·"  # the shape of a run that has not been read yet

_AHEAD = 60.0  # seconds: a wall time further in the future comes from another clock


@dataclass
class RunState:
    """What is known about one run, as of the last poll."""

    name: str
    is_read: bool = False  # some of its data has been read
    began: float = math.nan
    ended: float = math.nan  # the wall time of its last event
    seen: float = math.nan  # when this process saw it grow
    end: str = ""  # what its writer says
    diverged: bool = False
    step: int | None = None  # the last
    rate: float = 0.0  # steps per second over the last rows; 0 if unknown
    pause: float = 0.0  # seconds between the last rows
    broken: list[str] = field(default_factory=list)  # tags with a last value that is not finite

    def update(self, latest: LatestOfRun, now: float, is_backlog: bool = False) -> None:
        """Apply a poll's result. With `is_backlog`, and at first, its rows may be old: a new directory may have any."""
        grew = self.is_read and not is_backlog
        self.is_read = True
        self.began, self.ended, self.end = latest.began, latest.ended, latest.end
        # A log without times is as old as `tbq ls` takes it to be, until it grows.
        if grew or self.ended > now + _AHEAD or (math.isnan(self.ended) and not is_backlog):
            self.seen = now
        scalars = [each for each in latest.series if each.kind == "scalars"]
        self.step = max((each.step for each in latest.series), default=None)
        self.broken = [each.tag for each in scalars if not math.isfinite(each.value)]
        self.diverged = any(is_diverged(each.tag, each.value) for each in scalars)
        # Of the series whose pause is known, the one that is logged most often shows how far the run is.
        timed = [each for each in scalars if each.wall_time > each.earlier_wall_time]
        pace = max(timed, key=lambda each: (each.rows, each.step), default=None)
        self.rate = self.pause = 0.0
        if pace is not None:
            seconds = pace.wall_time - pace.earlier_wall_time
            self.rate = max(pace.step - pace.earlier_step, 0) / seconds
            self.pause = seconds / pace.earlier_rows

    def age(self, now: float) -> float:
        """Seconds since its last event, by its wall time or since this process saw it grow, whichever is less."""
        ages = [now - self.seen]
        if self.ended <= now + _AHEAD:
            ages.append(now - self.ended)
        return max(min((age for age in ages if not math.isnan(age)), default=math.inf), 0.0)

    def facts(self, now: float) -> Facts:
        """What its state depends on."""
        return Facts(self.end, self.diverged, self.age(now), self.pause, self.step)


def states_now(
    runs: Mapping[str, RunState], now: float, stalled_after: float = STALLED_AFTER
) -> dict[str, State]:
    """The states of these runs, as far as they have been read."""
    return states_of({name: run.facts(now) for name, run in runs.items() if run.is_read}, stalled_after)
