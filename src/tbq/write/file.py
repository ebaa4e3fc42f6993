"""An event file: it overwrites nothing, grows by complete records, and stays valid even if the disk fails."""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import os
import socket
import sys
import time
from pathlib import Path

from tbq import _core, termination, wire
from tbq.errors import OutputError
from tbq.write import existing, hparams
from tbq.write.flusher import flusher, watch
from tbq.write.pending import Pending

logger = logging.getLogger("tbq.write")

_FULL_BYTES = 1 << 20  # flush when this much is pending
_MAX_BYTES = 64 << 20  # limit in memory; beyond it, logging waits for the disk
_PIECE = 1 << 18  # bytes per write call, so that progress on a slow disk is visible
_RETRY_SECONDS = 5.0
_POLL_SECONDS = 0.005
_GONE = (
    {errno.ESTALE, errno.EBADF, errno.ENODEV, errno.ENXIO, errno.ENOTCONN} if os.name == "posix" else set()
)

_SUMMARY = 5  # fields of an Event
_END = 1000  # how its writer ended

_counter = itertools.count()


def failure_of_caller(before: object = None) -> str:
    """The error that is being handled now, as text: a `with` or `finally` block closes the writer.

    `before` marks the error that was being handled when the writer was opened, such as that of a first attempt.
    """
    error = sys.exc_info()[1]
    return "" if before is not None and _mark_of(error) is before else _described(error)


def _mark_of(error: BaseException | None) -> object:
    """What tells an error from all others, without keeping it and its frames alive."""
    return None if error is None else error.__dict__.setdefault("_tbq_mark", object())


def _unhandled() -> str:
    """The error that ends the process, as text. In an interactive session, the last error may be any."""
    if hasattr(sys, "ps1") or "IPython" in sys.modules:
        return ""
    return _described(getattr(sys, "last_value", None))


def _described(error: BaseException | None) -> str:
    if error is None or isinstance(error, GeneratorExit):
        return ""
    if isinstance(error, SystemExit) and not error.code:
        return ""
    try:
        text = str(error)
    except Exception:  # the error's own __str__ may fail
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _end(failed_by: str, has_hparams: bool) -> bytes:
    """The fields of an Event that say how its writer ended, and the session of its hyperparameters."""
    status = wire.integer(1, 2 if failed_by else 1)
    mark = wire.message(_END, status + wire.text(2, failed_by.encode(errors="replace")[:1000]))
    return wire.message(_SUMMARY, hparams.end(failed=bool(failed_by))) + mark if has_hparams else mark


def _status_is_hidden() -> bool:
    """Whether the process cannot learn its exit status: a child of multiprocessing never calls exit()."""
    process = sys.modules.get("multiprocessing.process")
    return not _core.can_mark_at_exit() or (process is not None and process.parent_process() is not None)


class EventFile:
    """The records of a writer on their way to a file. `drain`, `finish` and `fail` run on the flusher."""

    def __init__(
        self,
        directory: str,
        *,
        suffix: str = "",
        max_queue: int | None = None,
        flush_secs: float = 2.0,
        max_wait: float = 60.0,
        purge_step: int | None = None,
        opened_at: str = "",
        start: float | None = None,
        origin: str | None = None,
        to_disk: bool = True,
        began: float = 0.0,
    ) -> None:
        self.directory = directory
        self.flush_secs = flush_secs
        self.max_wait = max_wait
        self.retry_secs = max(0.05, min(flush_secs, _RETRY_SECONDS))
        self.opened_at = opened_at
        self.closed = False  # accepts no more events
        self.is_copy = False  # of a writer in another process, with which it shares a run
        self.outlives_exit = False  # if it is only flushed at exit, because the program may log until its end
        self.left = False  # it was flushed at exit; since then, each event is written at once
        self.is_exiting = False  # the process is exiting
        self.failed_by = ""  # the error that ended the run, as text
        self._handled = _mark_of(sys.exc_info()[1])  # the error after which the writer was opened
        self.has_hparams = False  # whose session ends with the file
        self.finished = False  # all events are written or lost
        self.path: Path | None = None
        self.failure: BaseException | None = None  # why writing fails at present
        self.cause: BaseException | None = None  # the last failure, even if it is over
        self.reported = False  # whether the failure has been reported to a caller
        self.quiet = False  # whether the failure is only counted in the report at the end
        self.missed = 0  # events dropped during the last failure, until they are reported
        self.lost = 0  # events that were not written when the file was closed
        self._marked = self._mark_dropped = False  # the mark of the end was logged; there was no room for it
        self.end_time: float | None = None  # the time of that mark, if it is not that of the clock
        self.buffer = _core.EventBuffer(_FULL_BYTES, max_queue or 2**62, _MAX_BYTES)
        self.pending = Pending(self.buffer, max_queue)
        self._suffix = suffix
        self._purge_step = purge_step
        self._start = start
        self._origin = origin
        self._to_disk = to_disk
        self._has_stalled = False
        self._paused = False
        self.began = began  # when the session began: that of the original, if this is a copy; 0 before
        self._descriptor: int | None = None
        self._size = 0  # bytes of complete records in the file
        self._seen = 0  # size of the file after the last write
        self._torn = False  # the file may have more bytes than `_size`
        self._backlog = b""  # complete records that left the buffer but are not in the file yet
        self._head = b""  # the file's header records, until they are in the file
        self._dropped = 0  # events dropped by the buffer before the last failure
        if to_disk:
            self._open()
        watch(self)
        if self._head:
            self.flush()

    def signal(self, full: bool) -> None:
        """Tell the flusher that records are pending, or that the buffer is full."""
        if flusher.write_through:
            self.flush()
        else:
            flusher.ask(self, "flush" if full else "wake")

    def flush(self, patience: float | None = None) -> bool:
        """Wait until everything logged so far is written, or writing has failed.

        False if nothing could be written for `patience` seconds.
        """
        if self.finished:
            return True
        arrived = self.settle(patience)
        return flusher.ask(self, "flush", wait=True, patience=patience) and arrived

    def settle(self, patience: float | None) -> bool:
        """Wait for values that are still on a device; False if none arrived for `patience` seconds."""
        if not self.pending.events:
            return True
        if flusher.is_current_thread() or not flusher.start():  # a destructor, or the end of the interpreter
            return self.pending.settle(self.pending.move, self.max_wait if patience is None else patience)
        return self.pending.settle(lambda: flusher.ask(self, "flush", wait=True, patience=patience), patience)

    def wait_for_room(self) -> None:
        """Wait until memory use is below the limit, as long as the disk accepts data."""
        if flusher.is_current_thread():
            return
        if self.pending.is_over():
            self.settle(self.max_wait)
        flusher.ask(self, "flush")
        moved, since = flusher.moved, time.monotonic()
        while self.failure is None and self.buffer.pending_bytes > _MAX_BYTES:
            if flusher.moved != moved:
                moved, since = flusher.moved, time.monotonic()
            elif time.monotonic() - since >= self.max_wait:
                self.fail(_StalledError(self.max_wait))
                return
            time.sleep(min(_POLL_SECONDS, self.max_wait))

    def close(self, patience: float | None = None) -> bool:
        """Flush, then close the file; a second caller waits for the first. False as in `flush`."""
        if self.closed:
            return self.flush(patience)
        self.closed = True
        self.settle(patience)
        self.pending.close()
        arrived = self.settle(patience)  # also what other threads have logged in the meantime
        by_status = self._is_marked_by_status
        if not by_status:
            self.mark_end(self.failed_by)
        self.buffer.close()
        in_time = flusher.ask(self, "close", wait=True, patience=patience) and arrived
        if by_status and in_time:
            self._mark_by_status()
        return in_time

    @property
    def is_resting(self) -> bool:
        """Whether the file was closed for now, and nothing has been logged since."""
        return self._paused and not self.buffer.pending_bytes and not self.pending.events

    def rest(self) -> None:
        """Flush and close the file for now: the next event opens another one."""
        if not self.is_resting:
            self.settle(None)
            self.mark_end(self.failure_of_caller())
            flusher.ask(self, "rest", wait=True)

    def failure_of_caller(self) -> str:
        """The error by which the writer's user leaves it, as text."""
        return failure_of_caller(self._handled)

    def mark_end(self, failed_by: str = "") -> None:
        """Log an event that says that the run ended, and by which error.

        The event has a field that TensorBoard's Event lacks, so other readers see only its time. A copy of the writer
        in another process logs the time alone: readers tell parallel processes from a restart by the time at which
        each ended, and the last value may be much older.
        """
        if self._to_disk and (self.path is not None or self.buffer.pending_bytes):
            dropped = self.buffer.dropped
            now = time.time() if self.end_time is None else self.end_time
            mark = b"" if self.is_copy else _end(failed_by, self.has_hparams)
            self.buffer.fields(mark, None, now)
            self._marked, self._mark_dropped = True, self.buffer.dropped > dropped

    @property
    def _is_marked_by_status(self) -> bool:
        """Whether the exit status says how the run ended: `sys.exit(1)` is an error, `sys.exit()` is not."""
        return self.is_exiting and not (
            self.failed_by or self.is_copy or self.is_resting or _status_is_hidden()
        )

    def _mark_by_status(self) -> None:
        if self._to_disk and self.path is not None and self.failure is None:
            path, when = os.fsencode(self.path.absolute()), self.end_time or 0.0
            finished, failed = (_end(failed_by, self.has_hparams) for failed_by in ("", "SystemExit"))
            _core.mark_at_exit(path, finished, failed, when)

    def close_at_exit(self, patience: float) -> bool:
        """Close at exit, when losses can only be logged."""
        self.failed_by = self.failed_by or _unhandled()
        self.is_exiting = True
        if self.outlives_exit:
            flusher.write_through = self.left = True
            by_status = self._is_marked_by_status
            if not (by_status or self.is_resting):
                self.mark_end(self.failed_by)
            in_time = self.flush(patience)
            if by_status and in_time:
                self._mark_by_status()
        else:
            in_time = self.close(patience)
        where = self.path or self.directory
        if not in_time:
            logger.warning(
                "%s: nothing could be written for %g seconds; pending events are lost", where, patience
            )
        elif self.lost:
            logger.warning("%s: %d events could not be written: %s", where, self.lost, self.cause)
        for value in self.pending.take_lost():
            logger.warning("%s: a value could not be logged: %s", where, value)
        return in_time

    def after_fork(self) -> None:
        """In the child: leave file and records to the parent; the child logs to a new file."""
        self.is_copy = True
        self.began = self.began or time.time()
        self._abandon()
        self.path = None
        self._backlog = self._head = b""
        self._purge_step = None
        self.failure = self.cause = None
        self.missed = self._dropped = 0
        self.buffer.forget()
        self.pending.forget()

    # The methods below run on the flusher's thread, or before it knows the file.

    def drain(self) -> bool:
        """Write everything that is pending now; False if the disk did not accept all of it.

        What is logged in the meantime is left for the next call, so that endless logging does not block others.
        """
        if (self._head or self._backlog) and not self._write():
            return False
        self.pending.move()
        self._backlog, _ = self.buffer.take()
        return not self._backlog or self._write()

    def finish(self) -> bool:
        """Write what is pending, count what cannot be written, and close the file."""
        written = self.drain()
        if not written:
            self.lost = _count(self._backlog)
            self._backlog = b""
            self.lost += self.buffer.take()[1]
        self.lost += self.buffer.dropped + len(self.pending.events)
        if self._marked and (not written or self._mark_dropped):
            self.lost -= 1  # the mark of the end is not a value that the user logged
        if self._descriptor is not None:
            try:
                os.close(self._descriptor)
            except OSError as error:  # network file systems may fail this late
                self.fail(error)
                written = False
            self._descriptor = None
        self.finished = True
        termination.release(id(self))
        return written

    def pause(self) -> bool:
        """Write what is pending and close the file. Records that the disk does not accept stay pending."""
        if not self.drain():
            return False
        self._abandon()
        self.path = None
        self._paused = True
        self.began = 0.0
        self.buffer.forget_steps()
        return True

    def fail(self, failure: BaseException) -> None:
        """Record a failure for the next caller. Until it is over, events beyond the limit are dropped."""
        if self.failure is None:
            # A slow disk may stall repeatedly: report it once, and count the losses at the end.
            stalled = isinstance(failure, _StalledError)
            self.reported = self.quiet = stalled and self._has_stalled
            self._has_stalled = self._has_stalled or stalled
            self._dropped = self.buffer.dropped
            self.buffer.drop_past_limit(True)
            self.buffer.call_attention(True)
        self.failure = self.cause = failure
        if not self.reported:
            logger.info("%s: cannot write: %s", self.path or self.directory, failure)  # the caller is warned

    def _recover(self) -> None:
        """The disk accepts data again."""
        logger.info("%s: writing again", self.path)
        self.failure = None
        self.missed = 0 if self.quiet else self.buffer.dropped - self._dropped
        self.buffer.drop_past_limit(False)
        self.buffer.call_attention(self.missed > 0)

    def _write(self) -> bool:
        if not self._to_disk:
            self._backlog = b""
            return True
        written = 0
        records = self._backlog
        try:
            descriptor = self._ready()
            records = self._head + self._backlog if self._head else self._backlog
            with memoryview(records) as view:
                while written < len(view):
                    count = os.write(descriptor, view[written : written + _PIECE])
                    if count <= 0:
                        raise OSError(errno.EIO, "the system wrote nothing and gave no reason")
                    written += count
                    flusher.moved += count
                    if isinstance(self.failure, _StalledError):
                        self._recover()
            self._seen = os.fstat(descriptor).st_size
        except (OSError, OutputError) as failure:
            complete = _core.whole_records(records, written)
            self._size += complete
            heading = min(complete, len(self._head))
            self._head = self._head[heading:]
            self._backlog = self._backlog[complete - heading :]
            self._torn = self._torn or written > complete
            self._mend()
            if getattr(failure, "errno", None) in _GONE:
                self._abandon()
            self.fail(failure)
            return False
        self._size += written
        self._head = self._backlog = b""
        self._purge_step = None
        if self.failure is not None:
            self._recover()
        return True

    def _ready(self) -> int:
        """A descriptor that appends after the last complete record."""
        if self._descriptor is not None:
            self._check_for_changes(os.fstat(self._descriptor))
        if self._descriptor is None:
            self._open()
        if self._torn and not self._mend():
            raise OSError(errno.EIO, "cannot remove a partly written record")
        assert self._descriptor is not None
        if not self._appends:
            os.lseek(self._descriptor, 0, os.SEEK_END)
        return self._descriptor

    def _check_for_changes(self, status: os.stat_result) -> None:
        """Check whether the file was deleted, replaced, truncated or extended by others since the last write."""
        assert self.path is not None
        if status.st_nlink == 0 and not existing.is_same(self.path, status):
            logger.warning("%s was deleted while it was being written; continuing in a new file", self.path)
            self._abandon()
        elif status.st_size < self._seen:
            intact = existing.has_full_records(self.path, status.st_size)
            where = "after them" if intact else "in a new file"
            logger.warning(
                "%s was truncated to %d bytes while it was being written; continuing %s",
                self.path,
                status.st_size,
                where,
            )
            self._torn = False
            self._size = self._seen = status.st_size
            if not intact:  # many readers stop at a partial record, and only its writer may remove it
                self._abandon()
            elif status.st_size == 0:
                self._head = self._header(self._began())
        elif not self._torn and self._seen == self._size:
            self._size = status.st_size  # keep what others added

    def _mend(self) -> bool:
        """Truncate the file to complete records."""
        if self._torn and self._descriptor is not None:
            try:
                if os.fstat(self._descriptor).st_size > self._size:
                    os.ftruncate(self._descriptor, self._size)
                self._seen = os.fstat(self._descriptor).st_size
            except OSError:
                return False
            self._torn = False
        return True

    def _abandon(self) -> None:
        """Give up the file; the next write opens another."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
        self._descriptor = None
        self._torn = False

    def _open(self) -> None:
        """Create the directory and a new file, and make its header records pending."""
        started = self._began()
        try:
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            self._descriptor, self.path = self._create(time.time() if self._start is None else self._start)
        except OSError as error:
            raise unwritable(self.directory, error) from error
        existing.lock(self._descriptor)
        self._size = self._seen = 0
        self._torn = self._paused = False
        self._head = self._header(started)
        if self._purge_step is not None:
            restart = wire.double(1, started) + wire.integer(2, self._purge_step)
            self._head += _core.frame(restart + wire.message(7, wire.integer(1, 1)))

    def _began(self) -> float:
        """The time of the file's header: the earliest of now, the first pending event and the begin of the session.

        Copies in other processes share the session of their original, so they never look like a restart of each other.
        """
        if self._start is not None:
            return self._start
        first = _core.first_wall_time(self._backlog) if self._backlog else 0.0
        self.began = min(each for each in (time.time(), first, self.began) if each > 0)
        return self.began

    @staticmethod
    def _header(started: float) -> bytes:
        return _core.frame(
            wire.double(1, started) + wire.text(3, "brain.Event:2") + wire.message(10, wire.text(1, "tbq"))
        )

    def _create(self, started: float) -> tuple[int, Path]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        origin = self._origin or f"{_host()}.{os.getpid()}"
        for number in itertools.count() if self._origin else _counter:
            name = f"events.out.tfevents.{int(started):010d}.{origin}.{number}{self._suffix}"
            path = Path(self.directory, name)
            try:
                return self._create_at(path, flags), path
            except FileExistsError:
                continue
        raise AssertionError("the counter never ends")

    def _create_at(self, path: Path, flags: int) -> int:
        """A new file in append mode, so that writes go to its end even if another program truncates it."""
        try:
            self._appends = True
            return os.open(path, flags | os.O_APPEND, 0o666)
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
                raise
        self._appends = False  # e.g. mounted object stores
        return os.open(path, flags, 0o666)


class _StalledError(Exception):
    """The disk accepts nothing and reports no error."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"nothing could be written for {seconds:g} seconds (max_wait)"
            if seconds
            else "events come faster than the disk accepts them, and max_wait=0 does not allow waiting"
        )


def unwritable(directory: str, error: OSError) -> OutputError:
    """The error for a directory in which no event file can be created."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        message, hint = "log_dir: is a file, want a directory", "choose another directory"
    elif isinstance(error, PermissionError):
        message, hint = "log_dir: no permission to write here", "choose another directory, or change its mode"
    else:
        message, hint = f"log_dir: cannot write here: {error.strerror or error}", None
    return OutputError(message, path=directory, hint=hint)


def _host() -> str:
    return "".join(c if c.isalnum() or c in "-._" else "_" for c in socket.gethostname()) or "localhost"


def _count(records: bytes) -> int:
    count = at = 0
    while at < len(records):
        at += 16 + int.from_bytes(records[at : at + 8], "little")
        count += 1
    return count
