"""Follows the log directory for `tbq watch`, and prepares the pictures on the screen."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.following.polling import Poll, Poller
from tbq.following.view import Axis, CurveGrid, LatestOfRun, LatestOfSeries

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.following.follower import Follower


class Want(NamedTuple):
    """What one card shows: the curves of some runs for scalars, otherwise the last value of one run."""

    kind: str
    tag: str
    runs: tuple[str, ...]
    axis: Axis = "step"
    range: tuple[float, float] | None = None
    width: int = 0
    smooth: float = 0.0


@dataclass(frozen=True)
class Picture:
    """The data of a card."""

    want: Want
    curves: CurveGrid | None = None
    raw: CurveGrid | None = None  # before smoothing, on the same grid
    extent: tuple[float, float] = (math.nan, math.nan)  # the first and the last x of all its points
    rows: pa.Table | None = None


FeedMessage = Poll | list[Picture] | Exception


class Feed(Poller):
    """Reads in its own thread after `start`, and sends polls, pictures and failures to the connected receiver."""

    def __init__(self, follower: Follower) -> None:
        super().__init__(follower, "tbq watch")
        self._lock = threading.Lock()
        self._receiver: Callable[[FeedMessage], None] | None = None
        self._waiting: list[FeedMessage] = []
        self._wanted: tuple[Want, ...] = ()
        self._made: dict[Want, Picture] = {}
        self._series: dict[str, dict[tuple[str, str], LatestOfSeries]] = {}
        self._began: dict[str, float] = {}  # of each run, where its relative time is 0
        self._changed: set[tuple[str, str, str]] = (
            set()
        )  # (run, kind, tag) with new rows since the last drawing

    def connect(self, receiver: Callable[[FeedMessage], None]) -> None:
        """Call `receiver` in the feed's thread with every message, and now with the messages so far."""
        with self._lock:
            self._receiver = receiver
            for message in self._waiting:
                receiver(message)
            self._waiting = []

    def _send(self, message: FeedMessage) -> None:
        with self._lock:
            if self._receiver is None:
                self._waiting.append(message)
            else:
                self._receiver(message)

    def want(self, wanted: tuple[Want, ...]) -> None:
        """Set the pictures on the screen."""
        if wanted != self._wanted:
            self._wanted = wanted
            self.wake()

    def fail(self, error: Exception) -> None:
        """Send the error, and end."""
        self._ended.set()
        self._send(error)

    def receive(self, poll: Poll) -> None:
        """Send the poll if anything changed, and note which series did."""
        if not poll.changed:
            return
        for name, latest in poll.latest.items():
            self._changed |= {(name, kind, tag) for kind, tag in self._changes(name, latest)}
        for name in poll.changes.replaced:  # rows before the last may have changed too
            self._changed |= {(name, kind, tag) for kind, tag in self._series.get(name, ())}
        for gone in set(self._series) - set(poll.runs):
            del self._began[gone]
            self._changed |= {(gone, kind, tag) for kind, tag in self._series.pop(gone)}
        self._send(poll)

    def _changes(self, name: str, latest: LatestOfRun) -> set[tuple[str, str]]:
        before = self._series.get(name, {})
        now = {(each.kind, each.tag): each for each in latest.series}
        moved = self._began.get(name, latest.began) != latest.began
        self._series[name], self._began[name] = now, latest.began
        return {key for key in before.keys() | now.keys() if moved or before.get(key) != now.get(key)}

    def between_polls(self) -> None:
        """Draw the pictures that are new or outdated."""
        wanted, changed, self._changed = self._wanted, self._changed, set()
        self._made = {want: picture for want, picture in self._made.items() if want in wanted}
        stale = {
            want
            for want in wanted
            if want not in self._made or any((run, want.kind, want.tag) in changed for run in want.runs)
        }
        pictures: list[Picture] = []
        pictures += [self._curves(want) for want in wanted if want in stale and want.kind == "scalars"]
        for kind in {want.kind for want in stale if want.kind != "scalars"}:
            of_kind = [want for want in wanted if want in stale and want.kind == kind]
            rows = self.view.last_values(kind, [(want.runs[0], want.tag) for want in of_kind if want.runs])
            pictures += [
                Picture(want, rows=rows.get((want.runs[0], want.tag)) if want.runs else None)
                for want in of_kind
            ]
        self._made.update({picture.want: picture for picture in pictures})
        if pictures:
            self._send(pictures)

    def _curves(self, want: Want) -> Picture:
        pairs = [(run, want.tag) for run in want.runs]
        options: dict[str, Any] = {"x": want.axis, "range": want.range, "width": want.width}
        curves = self.view.curves(pairs, **options, smooth=want.smooth)
        all_of_it = curves if want.range is None else self.view.curves(pairs, x=want.axis, width=1)
        extent = all_of_it.low, all_of_it.high
        if curves.low == curves.high and want.range is None:  # a single point goes to the middle
            options["range"] = curves.low - 1, curves.high + 1
            curves = self.view.curves(pairs, **options, smooth=want.smooth)
        raw = self.view.curves(pairs, **options) if want.smooth else None
        return Picture(want, curves, raw, extent)
