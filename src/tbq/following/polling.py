"""`Poller`: follows a log directory for a screen, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tbq.following.hparams import Hparams, read_hparams
from tbq.following.update import RunChanges
from tbq.following.view import LatestOfRun, View

if TYPE_CHECKING:
    from tbq.following.follower import Follower
    from tbq.following.update import Update
    from tbq.problems import Problem

_PIECE = 0.15  # seconds: about how long one piece takes to read
_SMALLEST, _LARGEST = 2 << 20, 512 << 20  # bytes of a piece


@dataclass(frozen=True)
class Poll:
    """The result of one poll. `latest` and `hparams` have the runs that changed; `runs` also has runs not read yet."""

    runs: tuple[str, ...] = ()
    latest: Mapping[str, LatestOfRun] = field(default_factory=dict)
    hparams: Mapping[str, Hparams] = field(default_factory=dict)
    changes: RunChanges = field(default_factory=lambda: RunChanges([], [], [], []))
    problems: tuple[Problem, ...] = ()
    exists: bool = True  # one of the paths exists
    left: int = 0  # bytes still to read
    is_backlog: bool = False  # its rows may have existed before the first poll
    changed: bool = True  # anything differs from the poll before


class Poller:
    """Polls a `Follower`, and passes each result to `receive`, which subclasses define.

    A large log is read in pieces, so that a screen soon shows its first part. The first poll reads nothing and lists
    the runs. If a result cannot be received, the next poll passes it again.
    """

    def __init__(self, follower: Follower, name: str) -> None:
        self.follower = follower
        self.view = View(follower)
        self._piece = 0  # bytes to read next
        self._update: Update | None = None  # read, but not received yet
        self._known: tuple[tuple[str, ...], bool, int] | None = None  # runs, exists and left of the last poll
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def receive(self, poll: Poll) -> None:
        """Take the result of a poll, in the thread that polls."""
        raise NotImplementedError

    def between_polls(self) -> None:
        """Called after each poll, and after each `wake`."""

    def fail(self, error: Exception) -> None:
        """Take an error of a poll; the next poll may succeed."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for the current poll."""
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def wake(self) -> None:
        """Call `between_polls` soon."""
        self._wake.set()

    def poll(self) -> Poll:
        """Poll once."""
        if self._update is None:
            began = time.monotonic()
            self._update = self.follower.poll(rows=False, most=self._piece)
            self._adapt(time.monotonic() - began, self._update.left)
        update = self._update
        runs = tuple(self.follower.runs)
        known = (runs, bool(runs) or self.view.exists(), update.left)
        latest = self.view.latest(sorted((*update.runs.new, *update.runs.grown, *update.runs.replaced)))
        having = [run for run, of in latest.items() if any(each.kind == "hparams" for each in of.series)]
        poll = Poll(
            runs,
            latest,
            read_hparams(self.follower, having) if having else {},
            update.runs,
            tuple(update.problems),
            *known[1:],
            is_backlog=bool(update.left or self._known is None or self._known[2]),
            changed=bool(update) or known != self._known,
        )
        self.receive(poll)
        self._update, self._known = None, known
        return poll

    def _adapt(self, seconds: float, left: int) -> None:
        """Set the size of the next piece by how long this one took, if it was full."""
        if self._piece and left:
            self._piece = int(self._piece * min(max(_PIECE / max(seconds, 1e-3), 0.25), 4.0))
        self._piece = min(max(self._piece, _SMALLEST), _LARGEST)

    def _run(self) -> None:
        due = 0.0
        while not self._ended.is_set():
            try:
                if time.monotonic() >= due:
                    self.poll()
                    due = time.monotonic() + self.follower.pause()
                self.between_polls()
            except Exception as error:
                if self._ended.is_set():
                    return
                self.fail(error)
                due = time.monotonic() + max(self.follower.interval, 0.01)
            self._wake.wait(max(due - time.monotonic(), 0.0))
            self._wake.clear()
