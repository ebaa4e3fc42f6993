"""`LiveLog`: the log that the page shows, followed in its own thread, with a number for each version of it."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Unpack

from tbq.following.follower import Following, follow
from tbq.following.listing import Listing
from tbq.following.polling import Poll, Poller
from tbq.following.states import STALLED_AFTER, RunState, states_now
from tbq.server.answers.health import Checkup
from tbq.server.cache import AnswerCache
from tbq.server.hidden_paths import places_of, title_of, without_paths
from tbq.server.series_index import Index
from tbq.server.sql.worker_pool import AT_ONCE, WorkerPool
from tbq.source.discover import any_remote
from tbq.storage import cache_folder, chosen
from tbq.text import natural
from tbq.writers import chosen as chosen_writers

if TYPE_CHECKING:
    from pathlib import Path

    from tbq.following.hparams import Hparams
    from tbq.following.states import State
    from tbq.progress import Call
    from tbq.source.discover import Source

INTERVAL = 0.25  # seconds between two polls
_STATES_EVERY = 2.0  # seconds: states also change as time passes
_YIELD = 0.2  # seconds that a poll waits for requests that are being answered


class Change(NamedTuple):
    """A new version of the log, the numbers of the runs that changed (None if they are many), and the bytes left."""

    version: int
    runs: list[int] | None
    left: int


class LiveLog(Poller):
    """Everything that requests ask for. May be used from several threads; after `start` it follows the log."""

    def __init__(
        self,
        path: Source,
        *,
        stalled_after: float | None = None,
        title: str | None = None,
        views: Path | None = None,
        clock: Callable[[], float] = time.time,
        **following: Unpack[Following],
    ) -> None:
        if following.get("interval") is None and not any_remote(path):
            following["interval"] = INTERVAL
        follower = follow(path, on_error="ignore", **following)
        super().__init__(follower, "tbq serve")
        self.threads, self.max_unpacked = following.get("threads"), following.get("max_unpacked")
        self.restarts = following.get("restarts", "resume")
        #: how the doctor opens the log in another process; only this thread knows the command's options
        self.opening = {
            "path": path,
            "max_unpacked": self.max_unpacked,
            "storage": chosen(following.get("storage")),
            "cache": str(cache_folder(following.get("cache"))),
            "source": sorted(chosen_writers(following.get("source"))),
        }
        self.has_all_runs = following.get("run") is None
        self.listing = Listing(follower)
        self.title = title if title is not None else title_of(follower.discovery.paths)
        self.places = places_of(follower.discovery.paths)
        self.clock = clock
        self.views = views
        self.stalled_after = stalled_after or STALLED_AFTER
        self.cache = AnswerCache()
        self.workers = WorkerPool(2 * AT_ONCE + 1)  # queries, filters and the doctor
        self.checkup = Checkup(self)
        #: guards everything below; never held while the store is asked
        self.lock = threading.RLock()
        self.index = Index()
        self.descriptions: dict[str, dict[str, str]] = {}  # display names and descriptions of tags
        self.states: dict[str, RunState] = {}
        self.hparams: dict[str, Hparams] = {}  # of the runs that have some
        #: identifies this server: versions and numbers of runs mean nothing to another one
        self.instance = secrets.token_hex(8)
        self.version = 0
        self.versions: dict[str, int] = {}  # of each run: the version in which it last changed
        self.rewritten: dict[
            str, int
        ] = {}  # of each run: the version in which earlier values may have changed
        self.left = 0
        self.exists = True
        self.loaded = False
        self.polled = 0.0
        self.failure: str | None = None
        self._ids: dict[str, int] = {}  # of every run so far: no number is used twice
        self._names: list[str] = []
        self._sorted: list[str] | None = None
        self._shown_states: dict[str, State] = {}
        self._states_at = 0.0
        self._listeners: list[Callable[[Change], None]] = []
        self._requests = 0
        self._idle = threading.Condition()

    # Following.

    def close(self) -> None:
        """Stop, end the other processes, and forget everything."""
        self._ended.set()
        self.workers.close()
        self.stop()
        self.follower.close()

    def read_everything(self, progress: Call | None = None) -> None:
        """Poll until nothing is left, in this thread: for reports and tests."""
        total = 0
        while not self.loaded or self.left:
            self.poll()
            total = max(total, self.left)
            if progress is not None:
                with self.lock:
                    runs = len(self.states), sum(state.is_read for state in self.states.values())
                progress(total - self.left, total, runs[1], runs[0])

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` after each change, in the thread that polls; the result ends that."""
        with self.lock:
            self._listeners.append(listener)
        return lambda: self._unlisten(listener)

    def _unlisten(self, listener: Callable[[Change], None]) -> None:
        with self.lock, contextlib.suppress(ValueError):
            self._listeners.remove(listener)

    def poll(self) -> Poll:
        """Poll once. Requests go first: polls in a row would otherwise keep the store for themselves."""
        with self._idle:
            self._idle.wait_for(lambda: not self._requests, _YIELD)
        return super().poll()

    def fail(self, error: Exception) -> None:
        """Show what was read: a disk may fail for a while."""
        self.failure = type(error).__name__

    def receive(self, poll: Poll) -> None:
        """Apply the result of a poll, and tell the listeners."""
        now = self.clock()
        with self.lock:
            self.failure = None
            self.left, self.exists, self.polled = poll.left, poll.exists, now
            self.loaded = self.loaded or not poll.left
            if poll.changed:
                self._apply(poll, now)
            elif abs(now - self._states_at) >= _STATES_EVERY:
                states, known = self.states_now(), self._shown_states
                self._shown_states, self._states_at = states, now
                changed = {run for run, state in states.items() if known.get(run, state) != state}
                if changed:
                    self._announce(changed)

    def _apply(self, poll: Poll, now: float) -> None:
        new = [run for run in poll.runs if run not in self.states]
        gone = self.states.keys() - set(poll.runs)
        for run in new:
            self._number(run)
            self.states[run] = RunState(run)
        for run in gone:
            for of_run in (self.states, self.versions, self.rewritten):
                of_run.pop(run, None)
        self.index.forget(gone)
        for run, latest in poll.latest.items():
            self.states[run].update(latest, now, poll.is_backlog)
            self.index.update(run, latest)
        for run in (*gone, *poll.latest):
            self.hparams.pop(run, None)
        self.hparams.update(poll.hparams)
        if poll.hparams or new or gone:
            self._sorted = None
        self._announce({*poll.latest, *gone, *new})
        for run in (*poll.changes.new, *poll.changes.replaced):
            self.rewritten[run] = self.version

    def _announce(self, changed: set[str]) -> None:
        """Begin a new version, in which these runs changed."""
        self.version += 1
        for run in changed & self.states.keys():
            self.versions[run] = self.version
        numbers = sorted(self._ids[run] for run in changed if run in self._ids)
        change = Change(self.version, numbers if len(numbers) <= 100 else None, self.left)
        for listener in list(self._listeners):
            listener(change)

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """While a request is answered, polls wait."""
        with self._idle:
            self._requests += 1
        try:
            yield
        finally:
            with self._idle:
                self._requests -= 1
                if not self._requests:
                    self._idle.notify_all()

    # Runs and their numbers.

    def _number(self, run: str) -> int:
        number = self._ids.get(run)
        if number is None:
            number = self._ids[run] = len(self._names)
            self._names.append(run)
        return number

    def id_of(self, run: str) -> int:
        """The number of a run; it never changes while the server runs."""
        return self._ids[run]

    def name_of(self, number: int) -> str | None:
        """The run with this number, if it exists."""
        with self.lock:
            if not 0 <= number < len(self._names):
                return None
            name = self._names[number]
            return name if name in self.states else None

    def was_shown(self, run: str | int) -> bool:
        """Whether a run of this name or number existed, and is gone."""
        with self.lock:
            if isinstance(run, str):
                return run in self._ids and run not in self.states
            return 0 <= run < len(self._names) and self._names[run] not in self.states

    def shown(self) -> list[str]:
        """The runs of the table, in its order."""
        with self.lock:
            if self._sorted is None:
                self._sorted = sorted(self.states, key=lambda run: (natural(run), run))
            return list(self._sorted)

    def hparams_of(self, runs: Iterable[str]) -> dict[str, Mapping[str, float | str | bool]]:
        """The hyperparameters of these runs; runs without any are absent."""
        with self.lock:
            return {run: each.values for run in runs if (each := self.hparams.get(run))}

    def among(self, numbers: Iterable[int]) -> list[str]:
        """The runs with these numbers that exist."""
        names = (self.name_of(number) for number in dict.fromkeys(numbers))
        return [name for name in names if name is not None]

    def states_now(self) -> dict[str, State]:
        """The current state of each run that was read."""
        now = self.clock()
        with self.lock:
            return states_now(self.states, now, self.stalled_after)

    def without_paths(self, text: str) -> str:
        """The text with the name of the log directory instead of its path."""
        return without_paths(text, self.places)

    def version_of(self, runs: Iterable[str]) -> tuple[tuple[str, int], ...]:
        """The versions of these runs: the key of a cached answer about them."""
        with self.lock:
            return tuple((run, self.versions.get(run, 0)) for run in runs)
