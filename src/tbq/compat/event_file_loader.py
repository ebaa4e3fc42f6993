"""TensorBoard's loaders of one event file: records, events as they were written, and events migrated to tensors."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

from tbq._core import RecordFile, is_compressed
from tbq.compat.log import logger
from tbq.compat.messages import message_class
from tbq.compat.migrate import Migration
from tbq.compat.real_messages import wants_protobuf
from tbq.source.inflate import Unpacked
from tbq.source.urls import refuse_remote

if TYPE_CHECKING:
    from tbq._core import Accumulator

_AT_ONCE = 256  # records
_MANY = 1 << 20  # events to read between two checks for an interrupt


class RawEventFileLoader:
    """Yields each serialized event of a file once."""

    def __init__(self, file_path: str | os.PathLike[str], detect_file_replacement: bool = False) -> None:
        """`detect_file_replacement`: continue in a longer file that replaced the file under the same name."""
        if file_path is None:
            raise ValueError("A file path is required")
        self._file_path = os.fspath(file_path)
        refuse_remote(self._file_path)
        self._detect_file_replacement = detect_file_replacement
        self._file_size: int | None = None
        self._unpacked: Unpacked | None = None
        self._unpacked_size = -1
        self._pending: deque[bytes] = deque()  # records that were read but not parsed yet
        self._at_end = True  # the last iteration returned everything
        self._made: deque[Any] = deque()  # made of records, but not returned yet
        if not stat.S_ISREG(os.stat(self._file_path).st_mode):  # opening a pipe would block
            raise OSError(errno.EINVAL, "not a regular file", self._file_path)
        with open(self._file_path, "rb"):  # raises if it cannot be read
            pass
        if is_compressed(os.fsencode(self._file_path)):
            self._unpacked = Unpacked()
        self._records = RecordFile(os.fsencode(self._file_path))

    def Load(self) -> Iterator[Any]:
        """The events that were not returned yet. Reads nothing before the caller iterates."""
        yield from self._Given(lambda record: (record,))

    # An interrupt (Ctrl-C), or another thread, may come between any two calls. So one call both reads records and adds
    # them to the pending ones, and lines without calls remove them.

    def _Given(self, make: Callable[[bytes], Iterable[Any]]) -> Iterator[Any]:
        """Everything that `make` makes of each record, once."""
        if not self._Prepare():
            return
        while True:
            if self._made:
                message = self._made[0]
                if self._made and self._made[0] is message:
                    del self._made[0]
                    yield message
            elif self._pending:
                record = self._pending[0]
                failure, events = None, deque[Any]()
                try:
                    events.extend(make(record))
                except Exception as wrong:  # not an event: the next call goes on after it
                    failure = wrong
                if self._pending and self._pending[0] is record:
                    self._made += events
                    del self._pending[0]
                    if failure is not None:
                        raise failure
            else:
                self._pending.extend(chain.from_iterable(map(self._records.records, (_AT_ONCE,))))
                self._Log()
                if not self._pending:
                    break
        self._LogEnd()

    def _Feed(self, core: Accumulator, most: int, purge: bool) -> int:
        """Feed at most `most` events to the core; returns how many came."""
        if not self._Prepare():
            return 0
        count = min(len(self._pending), most)
        pending = islice(iter(self._pending.popleft, None), count)
        deque(map(core.add, pending, repeat(purge)), maxlen=0)
        while count < most:
            batch = core.read(self._records, min(most - count, _MANY), purge, self._unpacked is not None)
            self._Log()
            if batch == 0:
                self._LogEnd()
                break
            count += batch
        return count

    def _Prepare(self) -> bool:
        """Prepare to continue reading; False if there is nothing to read."""
        logger.debug("Loading events from %s", self._file_path)
        if self._detect_file_replacement:
            has_increased = self.CheckForIncreasedFileSize()
            if has_increased:
                logger.debug("Reopening %s since file size has changed", self._file_path)
                self._records.accept_replacement()
            elif has_increased is False and self._at_end:
                logger.debug(
                    "Skipping attempt to poll %s since file size has not changed (still %d)",
                    self._file_path,
                    self._file_size,
                )
                return False
        if self._unpacked is not None:
            self._Unpack(self._unpacked)
        self._at_end = False
        return True

    def _Unpack(self, unpacked: Unpacked) -> None:
        """Unpack a compressed file, again if it has changed, and continue reading its content."""
        try:
            size = os.stat(self._file_path).st_size
        except OSError:
            return
        if size == self._unpacked_size:
            return
        path = os.fsencode(self._file_path)
        plain = unpacked.unpack_again(path)
        if path in unpacked.failures:
            logger.error("%s %s", self._file_path, unpacked.failures[path])
        if plain is not None:
            self._unpacked_size = size
            self._records = RecordFile(plain, self._records.offset)

    def _Log(self) -> None:
        """Log skipped damage; TensorBoard stops there, and logs at the same level."""
        faults, more = self._records.faults()
        for what, offset, length in faults:
            logger.debug(
                "Corrupted record in %s (%s: %d bytes at %d are skipped)",
                self._file_path, what, length, offset,
            )  # fmt: skip
        if more:
            logger.debug("%d more corrupted records in %s", more, self._file_path)

    def _LogEnd(self) -> None:
        self._at_end = True
        if self._records.unfinished:
            reason = f"{self._records.unfinished} bytes at {self._records.offset}"
            logger.debug("Truncated record in %s (%s)", self._file_path, reason)
        else:
            logger.debug("End of file in %s", self._file_path)
        logger.debug("No more events in %s", self._file_path)

    def CheckForIncreasedFileSize(self) -> bool | None:
        """Whether the file has grown since the last call; None if unknown."""
        previous = self._file_size
        try:
            size = os.stat(self._file_path).st_size
        except OSError as failure:
            logger.error("Failed to stat %s: %s", self._file_path, failure)
            return None
        logger.debug("Stat on %s got size %d, previous size %s", self._file_path, size, previous)
        if previous is not None and size < previous:
            logger.warning("File %s shrank from previous size %d to size %d", self._file_path, previous, size)
            return False
        self._file_size = size
        return None if previous is None else size > previous


class LegacyEventFileLoader(RawEventFileLoader):
    """Yields events as they were written."""

    def __init__(
        self,
        file_path: str | os.PathLike[str],
        detect_file_replacement: bool = False,
        *,
        protobuf: bool | None = None,
    ) -> None:
        """`protobuf=True` yields messages of the tensorboard package."""
        super().__init__(file_path, detect_file_replacement)
        self._protobuf = wants_protobuf(protobuf)

    def Load(self) -> Iterator[Any]:
        event_class = _event_class(self._protobuf)
        yield from self._Given(lambda record: (event_class.FromString(record),))


class EventFileLoader(LegacyEventFileLoader):
    """Yields events in which every value is a tensor with its data class, as TensorBoard's plugins expect."""

    @cached_property
    def _migration(self) -> Migration:
        return Migration()

    def Load(self) -> Iterator[Any]:
        yield from self._Given(self._Migrated)

    def _Migrated(self, record: bytes) -> Iterable[Any]:
        events = self._migration.events(message_class("tensorboard.Event").FromString(record))
        return [event.to_protobuf() for event in events] if self._protobuf else events


class TimestampedEventFileLoader(EventFileLoader):
    """Yields pairs of a wall time and an event."""

    def _Migrated(self, record: bytes) -> Iterable[Any]:
        return [(event.wall_time, event) for event in super()._Migrated(record)]


def _event_class(protobuf: bool) -> Any:
    if not protobuf:
        return message_class("tensorboard.Event")
    from tbq.compat.real_messages import real_class

    return real_class("tensorboard.Event")
