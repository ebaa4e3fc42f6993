"""One event file: it overwrites nothing, grows by whole records, and stays valid whatever the disk does."""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import os
import socket
import time
from pathlib import Path

from tbq import _core
from tbq.errors import OutputError
from tbq.write import existing, wire
from tbq.write.flusher import flusher, watch

logger = logging.getLogger("tbq.write")

_FULL_BYTES = 1 << 20  # flushed when so much is pending
_MAX_BYTES = 64 << 20  # kept in memory while the disk does not take it
_RETRY_SECONDS = 5.0
_GONE = (
    {errno.ESTALE, errno.EBADF, errno.ENODEV, errno.ENXIO, errno.ENOTCONN} if os.name == "posix" else set()
)

_counter = itertools.count()


class EventFile:
    """The records of one writer on their way to one file. `drain`, `finish` and `fail` run on the flusher."""

    def __init__(
        self,
        directory: str,
        *,
        suffix: str = "",
        max_queue: int | None = None,
        flush_secs: float = 2.0,
        purge_step: int | None = None,
        opened_at: str = "",
        start: float | None = None,
        origin: str | None = None,
        to_disk: bool = True,
    ) -> None:
        self.directory = directory
        self.flush_secs = flush_secs
        self.retry_secs = max(0.05, min(flush_secs, _RETRY_SECONDS))
        self.opened_at = opened_at
        self.closed = False
        self.path: Path | None = None
        self.failure: BaseException | None = None
        self.told = False  # whether a caller has heard of the failure
        self.lost = 0  # events that could not be written before the file was closed
        self.buffer = _core.EventBuffer(_FULL_BYTES, max_queue or 2**62, _MAX_BYTES)
        self._suffix = suffix
        self._purge_step = purge_step
        self._start = start
        self._origin = origin
        self._to_disk = to_disk
        self._descriptor: int | None = None
        self._size = 0  # bytes of whole records in the file
        self._torn = False  # the file may have more bytes than `_size`
        self._backlog = b""  # whole records that left the buffer and are not in the file
        if to_disk:
            self._open()
        watch(self)
        if self._backlog:
            self.flush()

    @property
    def has_pending(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._backlog) or self.buffer.pending_bytes > 0

    def signal(self, full: bool) -> None:
        """Tell the flusher that records wait, or that enough of them do."""
        flusher.ask(self, "flush" if full else "wake")

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything logged so far is in the file, or has failed to get there."""
        if not self.closed and self.has_pending:
            flusher.ask(self, "flush", wait=True, timeout=timeout)

    def close(self, timeout: float | None = None) -> None:
        """Flush, then close the file; the second time does nothing."""
        if self.closed:
            return
        self.closed = True
        self.buffer.close()
        flusher.ask(self, "close", wait=True, timeout=timeout)

    def close_at_exit(self, timeout: float) -> None:
        """Close, when no caller is left who could be warned of what is lost."""
        self.close(timeout)
        if self.lost:
            where = self.path or self.directory
            logger.warning("%s: %d events could not be written: %s", where, self.lost, self.failure)

    def after_fork(self) -> None:
        """In the child: leave file and records to the parent; what is logged here goes to a new file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None
        self.path = None
        self._backlog = b""
        self._purge_step = None
        self._torn = False
        self.failure = None
        self.buffer.forget()

    # What follows runs on the flusher's thread, or before it knows the file.

    def drain(self) -> bool:
        """Write all that is pending; False when the disk did not take all of it."""
        while True:
            if not self._backlog:
                self._backlog, _ = self.buffer.take()
                if not self._backlog:
                    return True
            if not self._to_disk:
                self._backlog = b""
            elif not self._write():
                return False

    def finish(self) -> bool:
        """Write what is pending, count what cannot be, and close the file."""
        written = self.drain()
        if not written:
            self.lost = _count(self._backlog)
            self._backlog = b""
            self.lost += self.buffer.take()[1]
        self.lost += self.buffer.dropped
        if self._descriptor is not None:
            try:
                os.close(self._descriptor)
            except OSError as wrong:  # network file systems refuse as late as this
                self.fail(wrong)
                written = False
            self._descriptor = None
        return written

    def fail(self, wrong: BaseException) -> None:
        """Keep what went wrong for the next caller to hear."""
        if self.failure is None:
            logger.info("%s: cannot write: %s", self.path or self.directory, wrong)  # the caller is warned
            self.told = False
            self.buffer.call_attention(True)
        self.failure = wrong

    def _write(self) -> bool:
        written = 0
        try:
            descriptor = self._ready()
            with memoryview(self._backlog) as view:
                while written < len(view):
                    written += os.write(descriptor, view[written:])
        except (OSError, OutputError) as wrong:
            whole = _core.whole_records(self._backlog, written)
            self._size += whole
            self._backlog = self._backlog[whole:]
            self._torn = self._torn or written > whole
            self._mend()
            if getattr(wrong, "errno", None) in _GONE:
                self._abandon()
            self.fail(wrong)
            return False
        self._size += written
        self._backlog = b""
        if self.failure is not None:
            logger.info("%s: writing again", self.path)
            self.failure = None
            self.buffer.call_attention(False)
        return True

    def _ready(self) -> int:
        """A descriptor whose position is the end of the last whole record."""
        if self._descriptor is not None and self._deleted():
            logger.warning("%s was deleted while it was written; going on in a new file", self.path)
            self._abandon()
        if self._descriptor is None:
            pending = self._backlog
            self._open()
            self._backlog += pending
        if self._torn and not self._mend():
            raise OSError(errno.EIO, "cannot cut off the record that was written in part")
        assert self._descriptor is not None
        return self._descriptor

    def _mend(self) -> bool:
        """Cut the file back to whole records."""
        if self._torn and self._descriptor is not None:
            try:
                os.ftruncate(self._descriptor, self._size)
                os.lseek(self._descriptor, self._size, os.SEEK_SET)
            except OSError:
                return False
            self._torn = False
        return True

    def _abandon(self) -> None:
        """Give the file up; the next write opens another."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
        self._descriptor = None
        self._torn = False

    def _deleted(self) -> bool:
        assert self._descriptor is not None and self.path is not None
        return os.fstat(self._descriptor).st_nlink == 0 and not self.path.exists()

    def _open(self) -> None:
        """Create the directory and a file that was not there, and make its first records pending."""
        started = time.time() if self._start is None else self._start
        try:
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            self._descriptor, self.path = self._create(started)
        except OSError as wrong:
            raise unwritable(self.directory, wrong) from wrong
        existing.lock(self._descriptor)
        self._size = 0
        self._torn = False
        header = (
            wire.double(1, started) + wire.text(3, "brain.Event:2") + wire.message(10, wire.text(1, "tbq"))
        )
        self._backlog = _core.frame(header)
        if self._purge_step is not None:
            restart = wire.double(1, started) + wire.integer(2, self._purge_step)
            self._backlog += _core.frame(restart + wire.message(7, wire.integer(1, 1)))
            self._purge_step = None

    def _create(self, started: float) -> tuple[int, Path]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        origin = self._origin or f"{_host()}.{os.getpid()}"
        for number in itertools.count() if self._origin else _counter:
            name = f"events.out.tfevents.{int(started):010d}.{origin}.{number}{self._suffix}"
            path = Path(self.directory, name)
            try:
                return os.open(path, flags, 0o666), path
            except FileExistsError:
                continue
        raise AssertionError("a counter does not end")


def unwritable(directory: str, wrong: OSError) -> OutputError:
    """The error for a directory in which no event file can be made."""
    if isinstance(wrong, FileExistsError | NotADirectoryError):
        message, hint = "log_dir: got the path of a file, want a directory", "choose another directory"
    elif isinstance(wrong, PermissionError):
        message, hint = "log_dir: no permission to write here", "choose another directory, or change its mode"
    else:
        message, hint = f"log_dir: cannot write here: {wrong.strerror or wrong}", None
    return OutputError(message, path=directory, hint=hint)


def _host() -> str:
    return "".join(c if c.isalnum() or c in "-._" else "_" for c in socket.gethostname()) or "localhost"


def _count(records: bytes) -> int:
    count = at = 0
    while at < len(records):
        at += 16 + int.from_bytes(records[at : at + 8], "little")
        count += 1
    return count
