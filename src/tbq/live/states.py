"""`RunState`: whether a run is running, by its session, its last values and the age of its last event."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tbq.live.view import BACK

if TYPE_CHECKING:
    from tbq.live.hparams import Hparams
    from tbq.live.view import LatestOfRun

State = Literal["running", "stalled", "finished", "failed"]
STATES: tuple[State, ...] = ("running", "stalled", "finished", "failed")
#: The shape that shows each state in every view, beside its colour.
SHAPES: dict[State, str] = {"running": "●", "stalled": "◐", "finished": "○", "failed": "✕"}
UNREAD = "·"  # the shape of a run that has not been read yet

# A run without new data counts as stalled after this many seconds or usual pauses, whichever is longer.
STALLED_AFTER, STALLED_PAUSES = 120.0, 20.0
FINISHED_AFTER, FINISHED_PAUSES = 3600.0, 200.0
_AHEAD = 60.0  # seconds: a wall time further in the future comes from another clock


@dataclass
class RunState:
    """What is known about one run, as of the last poll."""

    name: str
    is_read: bool = False  # some of its data has been read
    began: float = math.nan
    ended: float = math.nan  # the wall time of its last event
    seen: float = math.nan  # when this process saw it grow
    status: str | None = None  # of its hparams session
    step: int | None = None  # the last
    rate: float = 0.0  # steps per second over the last rows; 0 if unknown
    pause: float = 0.0  # seconds between the last rows
    broken: list[str] = field(default_factory=list)  # tags with a last value that is not finite

    def update(
        self, latest: LatestOfRun, hparams: Hparams | None, now: float, is_backlog: bool = False
    ) -> None:
        """Apply a poll's result. With `is_backlog`, and at first, its rows may be old: a new directory may have any."""
        grew = self.is_read and not is_backlog
        self.is_read = True
        self.status = None if hparams is None else hparams.status
        self.began, self.ended = latest.began, latest.ended
        if grew or self.ended > now + _AHEAD or math.isnan(self.ended):
            self.seen = now
        scalars = [each for each in latest.series if each.kind == "scalars"]
        self.step = max((each.step for each in latest.series), default=None)
        self.broken = [each.tag for each in scalars if not math.isfinite(each.value)]
        # The series that is logged most often shows how far the run is.
        pace = max(scalars, key=lambda each: (each.rows, each.step), default=None)
        self.rate = self.pause = 0.0
        if pace is not None and (seconds := pace.wall_time - pace.earlier_wall_time) > 0:
            self.rate = max(pace.step - pace.earlier_step, 0) / seconds
            self.pause = seconds / min(pace.rows - 1, BACK)

    def age(self, now: float) -> float:
        """Seconds since its last event, by its wall time or since this process saw it grow, whichever is less."""
        ages = [now - self.seen]
        if self.ended <= now + _AHEAD:
            ages.append(now - self.ended)
        return max(min((age for age in ages if not math.isnan(age)), default=math.inf), 0.0)

    def state(self, now: float, stalled_after: float = STALLED_AFTER) -> State:
        """Failed or finished by its session, failed if a last value is not finite, otherwise by its age."""
        if self.status == "failure" or self.broken:
            return "failed"
        if self.status == "success":
            return "finished"
        age = self.age(now)
        if age >= max(FINISHED_AFTER, 2 * stalled_after, FINISHED_PAUSES * self.pause):
            return "finished"
        if age >= max(stalled_after, STALLED_PAUSES * self.pause):
            return "stalled"
        return "running"
