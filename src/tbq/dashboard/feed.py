"""Polls the log directory in its own thread, and prepares the pictures on the screen."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.live.pieces import Pieces
from tbq.live.view import Axis, Curves, LatestOfRun, Series, View

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.live.follower import Follower
    from tbq.problems import Problem

_SHARE = 80  # polling an idle log takes at most 1/80 of a CPU


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
    curves: Curves | None = None
    raw: Curves | None = None  # before smoothing, on the same grid
    extent: tuple[float, float] = (math.nan, math.nan)  # the first and the last x of all its points
    rows: pa.Table | None = None


@dataclass(frozen=True)
class FeedUpdate:
    """The result of a poll. `latest` has the runs that changed; `runs` lists all runs, also those not read yet."""

    runs: tuple[str, ...] = ()
    latest: Mapping[str, LatestOfRun] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    exists: bool = True
    left: int = 0  # bytes still to read


FeedMessage = FeedUpdate | list[Picture] | BaseException


class Feed:
    """Reads in its own thread after `start`, and sends updates, pictures and failures to the connected receiver."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._view = View(follower)
        self._lock = threading.Lock()
        self._receiver: Callable[[FeedMessage], None] | None = None
        self._waiting: list[FeedMessage] = []
        self._wanted: tuple[Want, ...] = ()
        self._made: dict[Want, Picture] = {}
        self._series: dict[str, dict[tuple[str, str], Series]] = {}
        self._runs: tuple[str, ...] | None = None
        self._existed = True
        self._left = 0
        self._pieces = Pieces()
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tbq watch", daemon=True)

    def start(self) -> None:
        """Start reading."""
        self._thread.start()

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

    def stop(self) -> None:
        """Stop, and wait for the current read."""
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def want(self, wanted: tuple[Want, ...]) -> None:
        """Set the pictures on the screen."""
        if wanted != self._wanted:
            self._wanted = wanted
            self._wake.set()

    def _run(self) -> None:
        try:
            due = 0.0
            while not self._ended.is_set():
                self._wake.clear()
                changed: set[tuple[str, str, str]] = set()
                if time.monotonic() >= due:
                    began, cost = time.monotonic(), time.thread_time()
                    changed = self._poll()
                    idle = 0.0 if changed else _SHARE * (time.thread_time() - cost)
                    due = began if self._left else began + max(self._follower.interval, idle)
                self._draw(changed)
                self._wake.wait(max(due - time.monotonic(), 0.0))
        except BaseException as wrong:
            if not self._ended.is_set():
                self._send(wrong)

    def _poll(self) -> set[tuple[str, str, str]]:
        """Poll once; return the (run, kind, tag) whose rows changed."""
        began = time.monotonic()
        update = self._follower.poll(rows=False, most=self._pieces.next)
        self._pieces.took(time.monotonic() - began, update.left)
        runs = tuple(self._follower.runs)
        exists = bool(runs) or self._view.exists()
        known = (runs, exists, update.left)
        if not update and known == (self._runs, self._existed, self._left):
            return set()
        self._runs, self._existed, self._left = known
        latest = self._view.latest({*update.runs.new, *update.runs.grown, *update.runs.replaced})
        changed = {
            (name, kind, tag) for name, of_run in latest.items() for kind, tag in self._changes(name, of_run)
        }
        for name in update.runs.replaced:  # rows before the last may have changed too
            changed |= {(name, kind, tag) for kind, tag in self._series.get(name, ())}
        for gone in set(self._series) - set(runs):
            changed |= {(gone, kind, tag) for kind, tag in self._series.pop(gone)}
        self._send(FeedUpdate(runs, latest, tuple(update.problems), exists, update.left))
        return changed

    def _changes(self, name: str, latest: LatestOfRun) -> set[tuple[str, str]]:
        before = self._series.get(name, {})
        now = {(each.kind, each.tag): each for each in latest.series}
        self._series[name] = now
        return {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}

    def _draw(self, changed: set[tuple[str, str, str]]) -> None:
        """Draw the pictures that are new or outdated."""
        wanted = self._wanted
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
            rows = self._view.last_values(kind, [(want.runs[0], want.tag) for want in of_kind if want.runs])
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
        curves = self._view.curves(pairs, **options, smooth=want.smooth)
        all_of_it = curves if want.range is None else self._view.curves(pairs, x=want.axis, width=1)
        extent = all_of_it.low, all_of_it.high
        if curves.low == curves.high and want.range is None:  # a single point goes to the middle
            options["range"] = curves.low - 1, curves.high + 1
            curves = self._view.curves(pairs, **options, smooth=want.smooth)
        raw = self._view.curves(pairs, **options) if want.smooth else None
        return Picture(want, curves, raw, extent)
