"""`LiveLog`: the log that the page shows, followed by a thread of its own, with a number for each version of it."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.live.follower import follow
from tbq.live.listing import Listing
from tbq.live.pieces import Pieces
from tbq.live.states import STALLED_AFTER, RunState, states_now
from tbq.live.view import View
from tbq.server.hparams import Hparams, read_hparams
from tbq.server.places import places_of, title_of, without_paths
from tbq.server.series import Index
from tbq.storage import cache_folder, chosen
from tbq.text import natural

if TYPE_CHECKING:
    from tbq.decode.options import Restarts
    from tbq.decode.sub_runs import SubRunsAs
    from tbq.limits import Size
    from tbq.live.states import State
    from tbq.live.update import Update
    from tbq.live.view import LatestOfRun
    from tbq.progress import Call
    from tbq.select import Names, Steps
    from tbq.source.discover import Source

INTERVAL = 0.25  # seconds between two looks
_SHARE = 40  # looking takes at most one in so many seconds of a CPU
_STATES_EVERY = 2.0  # seconds: states change with time alone
_POLITE = 0.2  # seconds that a look waits for requests that are being answered


class Change(NamedTuple):
    """What listeners are told: the version, and the numbers of the runs that changed (None for many)."""

    version: int
    runs: list[int] | None
    left: int


class LiveLog:
    """Everything that requests ask. May be used from several threads; `start` makes it follow the log."""

    def __init__(
        self,
        path: Source,
        *,
        run: Names = None,
        tag: Names = None,
        steps: Steps = None,
        restarts: Restarts = "resume",
        interval: float = INTERVAL,
        stalled_after: float | None = None,
        title: str | None = None,
        threads: int | None = None,
        max_unpacked: Size | None = None,
        sub_runs: SubRunsAs = "fold",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.source = path
        self.threads, self.max_unpacked, self.restarts = threads, max_unpacked, restarts
        self.storage, self.cache = chosen(), str(cache_folder())  # of the command: threads do not know them
        self.follower = follow(
            path, run=run, tag=tag, steps=steps, restarts=restarts, interval=interval, threads=threads,
            on_error="ignore", max_unpacked=max_unpacked, sub_runs=sub_runs,
        )  # fmt: skip
        self.everything = run is None  # no run is left out
        self.view = View(self.follower)
        self.listing = Listing(self.follower)
        self.title = title if title is not None else title_of(self.follower.discovery.paths)
        self.places = places_of(self.follower.discovery.paths)
        self.clock = clock
        self.stalled_after = stalled_after or STALLED_AFTER
        #: guards everything below; never held while the store is asked
        self.lock = threading.RLock()
        self.index = Index()
        self.states: dict[str, RunState] = {}
        self.hparams: dict[str, Hparams] = {}  # of the runs that have some
        #: of this server: versions and numbers of runs mean nothing to another one
        self.instance = secrets.token_hex(8)
        self.version = 0
        self.versions: dict[str, int] = {}  # of each run: the version in which it last changed
        self.rewritten: dict[str, int] = {}  # and the one in which what it had before may have changed
        self.left = 0
        self.exists = True
        self.loaded = False
        self.polled = 0.0
        self.failure: str | None = None
        self._ids: dict[str, int] = {}  # of every run that ever was: numbers are not given twice
        self._names: list[str] = []
        self._sorted: list[str] | None = None
        self._shown_states: dict[str, State] = {}
        self._states_due = 0.0
        self._listeners: list[Callable[[Change], None]] = []
        self._pieces = Pieces()
        self._update: Update | None = (
            None  # that was given and not yet taken in, if something failed meanwhile
        )
        self._asking = 0
        self._idle = threading.Condition()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="tbq serve", daemon=True)
        self.caches: dict[str, Any] = {}  # of the modules that answer
        self.at_end: list[Callable[[], object]] = []  # what they have to put away

    # Following.

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Stop looking, and forget everything."""
        self._ended.set()
        for end in self.at_end:
            end()
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        self.follower.close()

    def read_everything(self, progress: Call | None = None) -> None:
        """Look until there is nothing left, without a thread: for reports and tests."""
        total = 0
        while True:
            self.look()
            total = max(total, self.left)
            if progress is not None:
                with self.lock:
                    runs = len(self.states), sum(state.is_read for state in self.states.values())
                progress(total - self.left, total, runs[1], runs[0])
            if self.loaded and not self.left:
                return

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call this after each change, in the thread that looks; the result ends that."""
        with self.lock:
            self._listeners.append(listener)
        return lambda: self._unlisten(listener)

    def _unlisten(self, listener: Callable[[Change], None]) -> None:
        with self.lock, contextlib.suppress(ValueError):
            self._listeners.remove(listener)

    def _follow(self) -> None:
        while not self._ended.is_set():
            began, cost = time.monotonic(), time.thread_time()
            changed = False
            try:
                changed = self.look()
                self.failure = None
            except Exception as wrong:
                if self._ended.is_set():
                    return
                # A disk that fails for a while: what was read is shown, and the next look may work.
                self.failure = type(wrong).__name__
            idle = 0.0 if changed else _SHARE * (time.thread_time() - cost)
            if not self.left or self.failure is not None:
                self._ended.wait(max(began + max(self.follower.interval, idle) - time.monotonic(), 0.01))

    def look(self) -> bool:
        """Poll once; whether anything changed."""
        self._let_others()
        began = time.monotonic()
        if self._update is None:
            self._update = self.follower.poll(rows=False, most=self._pieces.next)
            self._pieces.took(time.monotonic() - began, self._update.left)
        update = self._update
        runs = self.follower.runs
        exists = bool(runs) or self.view.exists()
        touched = {*update.runs.new, *update.runs.grown, *update.runs.replaced}
        latest = self.view.latest(touched)
        hparams = self._hparams(latest)
        with self.lock:
            before = self.version
            changed = self._take(update, runs, exists, latest, hparams)
            for run in {*update.runs.new, *update.runs.replaced} if self.version > before else ():
                self.rewritten[run] = self.version
            self._update = None
            return changed

    def _take(
        self,
        update: Update,
        runs: list[str],
        exists: bool,
        latest: dict[str, LatestOfRun],
        hparams: dict[str, Hparams],
    ) -> bool:
        now = self.clock()
        late = bool(self.left or update.left)  # what comes was there before
        gone = set(self.states) - set(runs)
        new = [run for run in runs if run not in self.states]
        before = (self.left, self.exists, self.loaded)
        for run in new:
            self._number(run)
            self.states[run] = RunState(run)
        for run in gone:
            del self.states[run]
            self.versions.pop(run, None)
            self.rewritten.pop(run, None)
        self.index.forget(gone)
        for run, of_run in latest.items():
            if run in self.states:
                state = self.states[run]
                state.update(of_run, now, late or not state.is_read)
                self.index.update(run, of_run)
        for run in [*gone, *latest]:
            self.hparams.pop(run, None)
        for run, given in hparams.items():
            if run in self.states:
                self.hparams[run] = given
        if hparams or new or gone:
            self._sorted = None
        self.left, self.exists = update.left, exists
        self.loaded = self.loaded or not update.left
        self.polled = now
        changed = {*latest, *gone, *new}
        if changed or before != (self.left, self.exists, self.loaded) or update.problems:
            self._tell(changed)
            return True
        if time.monotonic() >= self._states_due:
            states = self.states_now()
            known = self._shown_states
            others = {run for run, state in states.items() if known.get(run, state) != state}
            self._shown_states, self._states_due = states, time.monotonic() + _STATES_EVERY
            if others:
                self._tell(others)
        return False

    def _tell(self, changed: set[str]) -> None:
        self.version += 1
        for run in changed & self.states.keys():
            self.versions[run] = self.version
        numbers = sorted(self._ids[run] for run in changed if run in self._ids)
        change = Change(self.version, numbers if len(numbers) <= 100 else None, self.left)
        for listener in list(self._listeners):
            listener(change)

    def _hparams(self, latest: dict[str, LatestOfRun]) -> dict[str, Hparams]:
        """Those of runs that changed."""
        having = [
            run for run, of_run in latest.items() if any(each.kind == "hparams" for each in of_run.series)
        ]
        return read_hparams(self.follower, having) if having else {}

    def _let_others(self) -> None:
        """Requests first: whoever looks again and again would otherwise keep the store for itself."""
        with self._idle:
            self._idle.wait_for(lambda: not self._asking, _POLITE)

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """While a request is answered."""
        with self._idle:
            self._asking += 1
        try:
            yield
        finally:
            with self._idle:
                self._asking -= 1
                if not self._asking:
                    self._idle.notify_all()

    # Runs and their numbers.

    def _number(self, run: str) -> int:
        number = self._ids.get(run)
        if number is None:
            number = self._ids[run] = len(self._names)
            self._names.append(run)
        return number

    def id_of(self, run: str) -> int:
        """The number of a run, which stays the same while the server lives."""
        return self._ids[run]

    def name_of(self, number: int) -> str | None:
        """The run with this number, if it is there."""
        with self.lock:
            if not 0 <= number < len(self._names):
                return None
            name = self._names[number]
            return name if name in self.states else None

    def shown(self) -> list[str]:
        """The runs of the table, in its order."""
        with self.lock:
            if self._sorted is None:
                self._sorted = sorted(self.states, key=lambda run: (natural(run), run))
            return list(self._sorted)

    def among(self, numbers: Iterable[int]) -> list[str]:
        """The runs with these numbers that are there."""
        names = (self.name_of(number) for number in dict.fromkeys(numbers))
        return [name for name in names if name is not None]

    def states_now(self) -> dict[str, State]:
        """The state of each run that was read, now."""
        now = self.clock()
        with self.lock:
            return states_now(self.states, now, self.stalled_after)

    def without_paths(self, text: str) -> str:
        """A text in which the log directory has its name alone: where it lies concerns nobody else."""
        return without_paths(text, self.places)

    def version_of(self, runs: Iterable[str]) -> tuple[tuple[str, int], ...]:
        """What a cached answer about these runs depends on."""
        with self.lock:
            return tuple((run, self.versions.get(run, 0)) for run in runs)
