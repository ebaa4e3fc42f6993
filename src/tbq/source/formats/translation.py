"""`Translations`: logs of other trackers as event files, which grow as the logs do.

Each log is translated when it is first read, into an event file in a temporary folder. If the log grows, its new rows
are appended. Later stages read these files, as they read the copies of remote objects.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tbq.errors import SourceError
from tbq.limits import Limit, Size
from tbq.problems import Problem
from tbq.renaming import rename_over
from tbq.source.formats.interface import Log, ReplacedError, Stamp, TooLargeError, Translator
from tbq.source.growing import Growing
from tbq.source.origin import note, stands_for
from tbq.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from tbq.progress import Call
    from tbq.scratch import Scratch
    from tbq.source.formats.sink import Sink
    from tbq.source.remote import Remote
    from tbq.source.store import Object

_ATTEMPTS = 3  # to read a log that is replaced while it is read


@dataclass(eq=False, repr=False)
class _Translation:
    """A log and the event file that it is translated to."""

    log: Log
    share: int  # how many runs its file has
    path: Path | None = None
    stamp: Stamp | None = None  # of the log when it was translated
    translator: Translator | None = None
    sink: Sink | None = None
    stopped: bool = False  # it is larger than the limit, so the rest is not read
    failure: SourceError | None = None  # of the last attempt to read it


class Translations:
    """The logs of other trackers among the files of runs; the other files that are fetched are those of `remote`.

    It has the methods of `Remote`, so that runs can have either. If not `exact`, numbers become float32.
    """

    def __init__(
        self, remote: Remote | None = None, max_unpacked: Size | None = None, exact: bool = True
    ) -> None:
        self.remote = remote
        self._exact = exact
        self._limit = Limit.of(max_unpacked)
        self._known: dict[str, _Translation] = {}
        self._scratch: Scratch | None = None
        self._count = 0
        self._lock = threading.RLock()
        self.objects = _Versions(self)

    def __reduce__(self) -> tuple[Any, ...]:
        logs = [(each.log, each.share) for each in self._known.values()]
        return _restored, (self.remote, self._limit.most, self._exact, logs)

    @property
    def live(self) -> bool:
        """Whether files stay until they change."""
        return self.remote is None or self.remote.live

    def add(self, log: Log, share: int = 1) -> str:
        """Take a log; returns the path under which runs list it."""
        known = self._known.get(log.name)
        if known is None or known.log != log:
            self._known[log.name] = _Translation(log, share)
        else:
            known.share = share
        return log.name

    def has(self, path: str) -> bool:
        """Whether a path is that of a log or an object, and not of an event file."""
        return path in self._known or (self.remote is not None and self.remote.has(path))

    def is_log(self, path: str) -> bool:
        """Whether a path is that of a log of another tracker."""
        return path in self._known

    def path(self, path: str) -> str:
        """The path of the event file, which exists once it was fetched."""
        known = self._known.get(path)
        if known is None:
            assert self.remote is not None
            return self.remote.path(path)
        with self._lock:
            return str(self._place(known))

    def size(self, path: str) -> int:
        """The bytes of a log; logs in one file share its bytes."""
        known = self._known.get(path)
        if known is None:
            return self.remote.size(path) if self.remote is not None else 0
        stamp = _stamp_of(known.log)
        return stamp[0] // known.share if stamp is not None else 0

    def fetch(self, paths: Iterable[str], progress: Call | None = None, most: int | None = None) -> int:
        """Translate what is new; returns how many bytes of objects are left."""
        listed = list(paths)
        left = 0
        others = [path for path in listed if path not in self._known]
        if self.remote is not None and others:
            left = self.remote.fetch(others, progress, most)
        with self._lock:
            for path in listed:
                if path in self._known:
                    self._translate(self._known[path])
        return left

    def failed(self, paths: Iterable[str]) -> dict[str, SourceError]:
        """The logs and objects that could not be read the last time, each with its error."""
        listed = list(paths)
        known = [(path, self._known[path].failure) for path in listed if path in self._known]
        failures = {path: failure for path, failure in known if failure is not None}
        others = [path for path in listed if path not in self._known]
        if self.remote is not None and others:
            failures |= self.remote.failed(others)
        return failures

    @property
    def moves(self) -> bool:
        """Whether a new version of a file may have another path."""
        return self.remote is not None

    def problems_of(self, paths: Iterable[str], run: str) -> list[Problem]:
        """What was lost of these logs."""
        return [
            replace(problem, run=run)
            for path in paths
            if path in self._known
            for problem in self._problems(self._known[path])
        ]

    def doubt(self, path: str) -> None:
        """Note that an object is damaged."""
        if self.remote is not None and path not in self._known:
            self.remote.doubt(path)

    def read_beside(self, url: str, most: int) -> bytes | None:
        """The first `most` bytes of an object."""
        return self.remote.read_beside(url, most) if self.remote is not None else None

    def _place(self, known: _Translation) -> Path:
        if self._scratch is None or not self._scratch.is_ours:  # after a fork, the files belong to the parent
            from tbq.scratch import temporary

            self._scratch = temporary("translated")
            for each in self._known.values():
                each.path = each.translator = each.sink = each.stamp = None
            weakref.finalize(self, self._scratch.remove)
        if known.path is None:
            self._count += 1
            known.path = self._scratch.folder / f"{self._count}.events"
            stands_for(str(known.path), known.log.name)
        return known.path

    def _translate(self, known: _Translation) -> None:
        stamp = _stamp_of(known.log)
        path = self._place(known)
        if stamp is not None and known.stamp is not None and stamp[::2] == known.stamp[::2]:
            # Another run in the same file may have changed its time, or a lock that kept it from being read is gone.
            self._settle(known, path)
            return
        if stamp is None:
            path.unlink(missing_ok=True)
            known.translator, known.stamp = None, None
            return
        try:
            for _ in range(_ATTEMPTS):
                try:
                    self._read_on(known, path, stamp)
                    break
                except ReplacedError:
                    known.translator = None
            else:
                raise SourceError("changes faster than it can be read", path=known.log.path, code="changed")
        except SourceError as failure:
            self._fail(known, failure)
            return
        except OSError as failure:
            reason = (failure.strerror or str(failure)).lower()
            self._fail(
                known, SourceError(f"cannot be read: {reason}", path=known.log.name, code="unreadable")
            )
            return
        self._settle(known, path)
        known.stamp = stamp

    def _settle(self, known: _Translation, path: Path) -> None:
        known.failure = None
        note(str(path), None)

    def _fail(self, known: _Translation, failure: SourceError) -> None:
        known.failure = failure
        note(str(self._place(known)), failure)

    def _read_on(self, known: _Translation, path: Path, stamp: Stamp) -> None:
        from tbq.source.formats.recognise import format_of
        from tbq.source.formats.sink import Sink

        if known.translator is None:
            fresh = path.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            most = self._limit.bytes_of(stamp[0])
            translator = format_of(known.log).translator(known.log)
            sink = Sink(fresh, known.log.writer, most, self._exact, untimed=stamp[1])
            known.stopped = _read(translator, sink)
            rename_over(fresh, path)
            sink.path = path
            known.translator, known.sink = translator, sink
        elif not known.stopped:
            assert known.sink is not None
            known.sink.most = self._limit.bytes_of(stamp[0])
            known.stopped = _read(known.translator, known.sink)

    def _problems(self, known: _Translation) -> Iterator[Problem]:
        failure = known.failure
        if (
            failure is not None and known.path is not None and known.path.exists()
        ):  # otherwise the core reports it
            yield Problem("unreadable", "error", failure.message, path=known.log.name, hint=failure.hint)
        if known.translator is not None:
            yield from known.translator.problems
        if known.stopped and known.stamp is not None:
            message = self._limit.exceeded(known.stamp[0])
            yield Problem("unpacking", "error", message, path=known.log.name)


class _Versions:
    """The versions of logs and objects by path, as `Remote.objects` has them."""

    def __init__(self, owner: Translations) -> None:
        self._owner = weakref.ref(owner)

    def get(self, path: str) -> Object | None:
        """The version of a log or an object now."""
        owner = self._owner()
        assert owner is not None
        known = owner._known.get(path)
        if known is None:
            return owner.remote.objects.get(path) if owner.remote is not None else None
        stamp = _stamp_of(known.log)
        if stamp is None:
            return None
        from tbq.source.store import Object

        size, modified, marks = stamp
        return Object(path, size, "-".join(map(str, marks)), modified)


def _read(translator: Translator, sink: Sink) -> bool:
    """Read what is new; whether that reached the limit."""
    try:
        translator.read(sink)
        sink.flush()
    except TooLargeError:
        return True
    return False


def _stamp_of(log: Log) -> Stamp | None:
    from tbq.source.formats.recognise import format_of

    return format_of(log).stamp(log)


def _restored(
    remote: Remote | None, most: int | None, exact: bool, logs: Sequence[tuple[Log, int]]
) -> Translations:
    translations = Translations(remote, most, exact)
    for log, share in logs:
        translations.add(log, share)
    return translations


def unfinished(path: str, position: int, size: int, growing: Growing | None = None) -> list[Problem]:
    """The problem of a file that ends in an unfinished record: only a note while the file is being written."""
    if size <= position:
        return []
    left = counted(size - position, "byte")
    if (growing or Growing())(path, size):
        message, severity = f"ends in an unfinished record of {left}: it is still being written", "info"
        return [Problem("truncated", severity, message, path=path, offset=position)]
    message = f"ends in an unfinished record: {left} lost"
    hint = "its writer or a copy was stopped: copy it again"
    return [Problem("truncated", "error", message, path=path, offset=position, hint=hint)]
