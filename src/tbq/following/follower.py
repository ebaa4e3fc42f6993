"""`tbq.follow` and `Follower`: polls a log directory, and keeps everything it has read."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypedDict, get_args

from tbq import _core
from tbq.arguments import bad, choice
from tbq.decode import cpu_count
from tbq.decode.options import ON_ERROR, DecodeOptions, OnError, Restarts
from tbq.decode.problems import tell
from tbq.decode.reader import Reader
from tbq.decode.sub_runs import SubRunFolder, SubRunsAs
from tbq.errors import SelectionError, SourceError, UsageError
from tbq.following.discovery import Discovery
from tbq.following.reported_problems import ReportedProblems
from tbq.following.store import LiveStore
from tbq.following.tables import FollowedTables
from tbq.following.update import RunChanges, Tables, Update
from tbq.problems import Problem, is_damage
from tbq.select import Names, Selection, Steps
from tbq.select import steps as _steps
from tbq.source.discover import Logs, Source, refuse_lakes, remote_for, sources
from tbq.source.files import bytes_of, fetch, files_of
from tbq.source.inflate import Unpacked
from tbq.text import counted, shown_path

if TYPE_CHECKING:
    from tbq._core import LiveUpdate
    from tbq.arguments import StrPath
    from tbq.limits import Size
    from tbq.source import Run
    from tbq.source.discover import Found
    from tbq.storage import Storage
    from tbq.table.table import Table
    from tbq.writers import Writers

INTERVAL = 0.2  # seconds between two polls
REMOTE_INTERVAL = 30.0  # of object stores, which charge for each listing
_IDLE_SHARE = 40  # polling a log that does not change takes at most 1/40 of a CPU


class Following(TypedDict, total=False):
    """The keywords of `tbq.watch`, `tbq.serve` and `tbq.mcp` that are those of `tbq.follow`."""

    run: Names
    tag: Names
    steps: Steps
    restarts: Restarts
    interval: float | None
    threads: int | None
    max_unpacked: Size | None
    storage: Storage | None
    cache: StrPath | None
    sub_runs: SubRunsAs
    source: Writers


def follow(
    path: Source,
    *,
    run: Names = None,
    tag: Names = None,
    kinds: Sequence[str] | str | None = None,
    steps: Steps = None,
    restarts: Restarts = "resume",
    interval: float | None = None,
    from_start: bool = True,
    threads: int | None = None,
    on_error: OnError = "warn",
    max_unpacked: Size | None = None,
    storage: Storage | None = None,
    cache: StrPath | None = None,
    sub_runs: SubRunsAs = "fold",
    source: Writers = None,
) -> Follower:
    """Follow a log directory while it is being written; iterate over the `Follower` for new data.

    `path` is that of `tbq.open`, and need not exist yet. `run`, `tag`, `steps`, `restarts` and `threads` are those of
    `log.scalars`; they also select names that appear later, and need not match any. `kinds` are tables ("scalars",
    "images", …; default: all). `interval` is in seconds (default: 0.2, or 30 for URLs). With `from_start=False`, data
    that exists now is read, but is not part of any update. `on_error="raise"` raises at the first damage; the next
    poll continues after it. `sub_runs` and `source` are those of `tbq.open`.

    >>> with tbq.follow("runs", tag="val/loss") as follower:
    ...     for update in follower:
    ...         print(len(update.tables["scalars"]))
    ...         break
    80
    """
    return Follower(
        path, run=run, tag=tag, kinds=kinds, steps=steps, restarts=restarts, interval=interval,
        from_start=from_start, threads=threads, on_error=on_error, max_unpacked=max_unpacked, storage=storage,
        cache=cache, sub_runs=sub_runs, source=source,
    )  # fmt: skip


class _Ready(NamedTuple):
    """An update that the caller has not received yet, and the follower's state afterwards."""

    core: LiveUpdate
    update: Update
    names: set[str]
    reported: ReportedProblems


class Follower:
    """A followed log directory. Made by `tbq.follow`.

    Iterating, also with `async for`, polls for ever and yields each `Update` that has something new. A `Follower` may
    be used from several threads.
    """

    def __init__(
        self,
        path: Source,
        *,
        run: Names,
        tag: Names,
        kinds: Sequence[str] | str | None,
        steps: Steps,
        restarts: Restarts,
        interval: float | None,
        from_start: bool,
        threads: int | None,
        on_error: OnError,
        max_unpacked: Size | None,
        storage: Storage | None = None,
        cache: StrPath | None = None,
        sub_runs: SubRunsAs = "fold",
        source: Writers = None,
    ) -> None:
        self._run = _selection(run, "run")
        self._tag = _selection(tag, "tag")
        if restarts == "split":
            raise bad(
                "restarts", restarts, "resume, keep, last or tensorboard: a log that grows is not split"
            )
        self._options = DecodeOptions(tag=self._tag, steps=_steps(steps), restarts=restarts, threads=threads)
        choice("on_error", on_error, ON_ERROR)
        items = sources(path)
        refuse_lakes(items, "new data is read from event files")
        remote = remote_for(items, storage, cache, live=True)
        if interval is None:
            interval = INTERVAL if remote is None else REMOTE_INTERVAL
        if isinstance(interval, bool) or not isinstance(interval, int | float) or not 0 <= interval < 1e6:
            raise bad("interval", interval, "seconds, 0 or more")
        self.interval = float(interval)
        self._on_error: OnError = on_error
        self._unpacked = unpacked = Unpacked(max_unpacked)
        # Views use these; users do not need them.
        choice("sub_runs", sub_runs, get_args(SubRunsAs))
        folder = SubRunFolder(unpacked) if sub_runs == "fold" else None
        self.discovery = Discovery(items, remote, folder, Logs(remote, source, max_unpacked))
        self.reader = Reader(self.discovery.found, unpacked)
        self._tables = FollowedTables(kinds, self._tag, self.reader, self.path, on_error)
        #: the tables of updates
        self.kinds = self._tables.names
        self.store = LiveStore(
            _core.Store(
                self._tables.core_kinds,
                None if self._tag.everything else self._tag.matches,
                *self._options.steps,
                restarts,
                min(self._options.threads or cpu_count(), 64),
                unpacked.unpack_again,
                patterns=self._tag.names_of_patterns,
                hidden=partial(_hidden, self._tag),
            )
        )
        self._chosen: list[Run] = []  # the selected runs; the store has those that were fetched
        self._unfetched = 0  # bytes that the next poll will fetch
        self._unfetchable: list[Problem] = []  # as of the last poll
        self._followed: Found | None = None  # the last found runs that the store knows
        self._names: set[str] = set()  # of all runs in updates so far
        self._reported = ReportedProblems()
        self._ready: deque[_Ready] = deque()  # updates that no caller has received yet
        self._announced = False  # the problems of the last update were reported
        self._ended = threading.Event()
        self._poll_began = time.monotonic()
        self._idle_cost = 0.0  # seconds of CPU that the last poll took, if it found nothing
        self._left = 0  # bytes that the last poll left
        if not from_start:
            first = self._read(rows=False)
            if first.update:
                self._ready.append(first)
                self._announced = True
            self._settle(first)

    @property
    def path(self) -> str:
        """The followed paths, joined by commas.

        >>> tbq.follow("runs").path
        'runs'
        """
        return ", ".join(map(shown_path, self.discovery.paths))

    @property
    def runs(self) -> list[str]:
        """The names of the runs as of the last poll, sorted.

        >>> follower = tbq.follow("runs", run="lr=0.1")
        >>> update = follower.poll()
        >>> follower.runs
        ['lr=0.1/seed=0', 'lr=0.1/seed=1']
        """
        return [run.name for run in self.store.runs]

    @property
    def problems(self) -> list[Problem]:
        """All problems of the updates so far.

        >>> tbq.follow("runs").problems
        []
        """
        return list(self._reported.problems)

    @property
    def closed(self) -> bool:
        """Whether `close()` was called.

        >>> with tbq.follow("runs") as follower:
        ...     follower.closed
        False
        >>> follower.closed
        True
        """
        return self._ended.is_set()

    def poll(self, *, rows: bool = True, most: int | None = None) -> Update:
        """Poll once, without waiting: what is new since the last poll.

        With `rows=False`, the update lists the runs that changed and the problems, but has no rows. `most` limits about
        how many bytes are read; `update.left` is how many the next call will read.

        >>> follower = tbq.follow("runs", kinds="images")
        >>> follower.poll().table("images").shape
        (3, 10)
        >>> bool(follower.poll())
        False
        """
        if most is not None and (
            isinstance(most, bool) or not isinstance(most, int) or not 0 <= most < 1 << 63
        ):
            raise bad("most", most, "bytes, 0 or more")
        while True:
            ready = self._prepare(rows, most)
            update = ready.update
            try:
                # These lines contain no call and no loop, so neither a signal nor another thread can come between them.
                if self._ready and self._ready[0] is ready:
                    del self._ready[0]
                    return update
            except BaseException:  # a debugger may run code between two lines
                self._return(ready)
                raise

    def table(self, kind: str = "scalars") -> Table:
        """All rows as of the last poll: the same table as that of `tbq.open`.

        >>> follower = tbq.follow("runs")
        >>> update = follower.poll()
        >>> len(follower.table("scalars")) == len(log.scalars())
        True
        """
        return self._tables.table(kind, *self.store.everything(self.core_kind(kind)))

    def last_steps(self, runs: Iterable[str]) -> dict[str, int]:
        """The largest step of each of these runs, of any tag; runs without values are left out.

        >>> follower = tbq.follow("runs")
        >>> follower.poll().runs.new[0], follower.last_steps(["diverged"])
        ('diverged', {'diverged': 200})
        """
        from tbq.following.listing import Listing

        listed = Listing(self).of_runs(list(runs))
        return {run: max(each.max_step for each in of.series) for run, of in listed.items() if of.series}

    def sizes(self, runs: Iterable[str]) -> dict[str, int]:
        """The bytes of each run's files.

        >>> follower = tbq.follow("runs")
        >>> follower.poll().runs.new[0], follower.sizes(["diverged"])["diverged"] > 0
        ('diverged', True)
        """
        wanted = set(runs)
        return {run.name: bytes_of(run) for run in self.store.runs if run.name in wanted}

    def wait(self, at_most: float | None = None) -> bool:
        """Wait until it is time for the next poll; false if the follower was closed meanwhile.

        That is `interval` after the last poll began, or later if polling many unchanged files takes long.

        >>> tbq.follow("runs", interval=0.01).wait(at_most=1)
        True
        """
        seconds = self.pause()
        return not self._ended.wait(seconds if at_most is None else min(seconds, at_most))

    def pause(self) -> float:
        """Seconds until it is time for the next poll; 0 if the last one left something to read.

        >>> tbq.follow("runs", interval=0).pause()
        0.0
        """
        if self._left:
            return 0.0
        return max(
            0.0, self._poll_began + max(self.interval, _IDLE_SHARE * self._idle_cost) - time.monotonic()
        )

    def __iter__(self) -> Iterator[Update]:
        while not self.closed:
            try:
                ready = self._prepare()
            except UsageError:
                if self._ended.is_set():  # by another thread, after the check above
                    return
                raise
            update, has_changes = ready.update, bool(ready.update)
            if self._ready and self._ready[0] is ready:
                del self._ready[0]
                if has_changes:
                    yield update  # as in poll(), nothing can come between
            self.wait()

    async def __aiter__(self) -> AsyncIterator[Update]:
        import asyncio

        while not self.closed:
            try:
                ready = await asyncio.to_thread(self._prepare)
            except UsageError:
                if self._ended.is_set():
                    return
                raise
            update, has_changes = ready.update, bool(ready.update)
            if self._ready and self._ready[0] is ready:
                del self._ready[0]
                if has_changes:
                    yield update
            await asyncio.sleep(self.pause())

    def close(self) -> None:
        """Stop iterations, and release everything that was read.

        >>> follower = tbq.follow("runs")
        >>> follower.close()
        >>> follower.closed
        True
        """
        self._ended.set()
        with self.store.lock:
            self.store.close()
            self._ready.clear()

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else counted(len(self.store.runs), "run")
        return f"<tbq.Follower {self.path!r}: {state}>"

    # An interrupt (Ctrl-C) may come at any call and in any loop. So a poll changes only the core, which returns one
    # update until it is in `_ready`; the steps after that can be repeated. The method that returns an update removes it
    # from `_ready` in its last step, after which no interrupt can come.

    def _prepare(self, rows: bool = True, most: int | None = None) -> _Ready:
        """The next update to return; polls if there is none yet."""
        with self.store.lock:
            if not self._ready:
                self._poll_began, began = time.monotonic(), time.thread_time()
                ready = self._read(rows, most)
                self._left = ready.update.left
                self._idle_cost = 0.0 if ready.update else time.thread_time() - began
                self._announced = False
                self._ready.append(ready)
            ready = self._ready[0]
            self._settle(ready)
            if not self._announced:
                try:
                    tell(ready.update.problems, self._on_error)
                except Exception:  # it reports the problem; an interrupt does not
                    self._announced = True
                    raise
                self._announced = True
            return ready

    def _return(self, ready: _Ready) -> None:
        """Let the next poll return this update, because the caller did not receive it."""
        with self.store.lock:
            if not self.closed and not (self._ready and self._ready[0] is ready):
                self._ready.appendleft(ready)

    def _settle(self, ready: _Ready) -> None:
        self._names, self._reported = ready.names, ready.reported
        gone = {path for _, path, what in ready.core.changes if what == "gone"}
        if gone:  # except files that moved to another run
            self._unpacked.forget(gone.difference(files_of(self.store.runs)[0]))
        self.store.received(ready.core)

    def core_kind(self, kind: str) -> str:
        """The core's name for the values of a table; an error if they are not followed.

        >>> tbq.follow("runs").core_kind("nodes")
        'graphs'
        """
        return self._tables.core_kind(kind)

    def _read(self, rows: bool = True, most: int | None = None) -> _Ready:
        # An update that the core already has belongs to the runs it knows.
        if not self.store.has_update:
            if not self._unfetched:
                self.discovery.search()
            found = self.discovery.found
            if found is not self._followed:
                self.reader.found = found
                wanted = set(self._run.resolve([run.name for run in found.runs]).names)
                self._chosen = [run for run in found.runs if run.name in wanted]
                if found.remote is None or not found.remote.moves:
                    self.store.set_runs(self._chosen)
                self._followed = found
            if found.remote is not None:
                self._fetch(most)
                if found.remote.moves:
                    self.store.set_runs(self._chosen)  # a replaced object is a new file
        core = self.store.poll(rows, most)
        runs = list(self.store.runs)
        problems = []
        if core.changes:
            problems = self.reader.collect(core.added, runs, self._options.restarts)
            self._doubt(problems)
        replaced = [path for _, path, what in core.changes if what in ("replaced", "gone")]
        passing = [*self.discovery.found.notices, *self._unfetchable]
        reported, new_problems = self._reported.after(replaced, problems, passing)
        tables = Tables(
            self._tables.counts(core.rows if rows else {}),
            lambda kind: self._tables.new_rows(kind, core.added if rows else None, runs),
        )
        names, changes = self._run_changes(core)
        update = Update(
            tables,
            lambda: self._tables.retracted(core, rows),
            core.retracted_count if rows else 0,
            changes,
            new_problems,
            core.left + self._unfetched,
        )
        return _Ready(core, update, names, reported)

    def _fetch(self, most: int | None) -> None:
        """Fetch about `most` bytes of new and grown objects; failed objects are fetched again at the next poll."""
        self._unfetched, self._unfetchable = 0, []
        try:
            self._unfetched = fetch(self._chosen, most=most)
        except SourceError as failure:
            self._unfetchable = [_problem("fetching", failure)]
            return
        remote = self.discovery.found.remote
        assert remote is not None
        for run in self._chosen:
            failures = remote.failed(filter(remote.has, run.files)).values()
            self._unfetchable += [_problem("unreadable", each, run.name) for each in failures]

    def _doubt(self, problems: Sequence[Problem]) -> None:
        """Fetch damaged objects entirely next time: a repair may be anywhere in them."""
        remote = self.discovery.found.remote
        if remote is not None:
            for path in {problem.path for problem in problems if problem.path and is_damage(problem)}:
                remote.doubt(path)

    def _run_changes(self, core: LiveUpdate) -> tuple[set[str], RunChanges]:
        """All runs in updates including this one, and how the runs changed."""
        changes = core.changes
        current = set(self.runs)
        gone = sorted(self._names - current)
        if not changes and not gone:
            return self._names, RunChanges([], [], [], [])
        touched = {run for run, _, _ in changes if run in current}
        new = touched - self._names
        replaced = {run for run, _, what in changes if what in ("replaced", "gone")} & touched - new
        names = (self._names | new) & current
        return names, RunChanges(sorted(new), sorted(touched - new - replaced), sorted(replaced), gone)


def _problem(code: str, failure: SourceError, run: str | None = None) -> Problem:
    return Problem(code, "error", failure.message, path=failure.path, run=run, hint=failure.hint)


def _selection(spec: Names, what: str) -> Selection:
    selection = Selection.of(spec, what)
    if selection.items == ():
        raise SelectionError(f"no {what} was selected")
    selection.resolve([])  # raises if a regular expression is invalid
    return selection


def _hidden(tag: Selection, _kind: str, tags: list[str]) -> list[str]:
    """The tags that match a pattern that is the exact name of another tag."""
    return sorted(set(tags) - set(tag.resolve(tags).names))
