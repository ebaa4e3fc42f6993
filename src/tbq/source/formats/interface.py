"""What a format of other trackers' logs provides: how it is recognised, its runs, and what is new in them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

if TYPE_CHECKING:
    from tbq.problems import Problem
    from tbq.source.formats.sink import Sink

_TAIL = 1024

#: Changes if the content of a log changes: its size in bytes, the time of its last change, and other numbers.
Stamp = tuple[int, float, tuple[int, ...]]


class ReplacedError(Exception):
    """What was read before is no longer there: the log must be read from its start."""


class TooLargeError(Exception):
    """The log becomes more bytes than the limit."""


class Log(NamedTuple):
    """One run in a file or folder of another tracker."""

    writer: str
    path: str  # of the file or folder
    run: str = ""  # below the folder of the file; empty if that folder is the run
    key: str = ""  # which of the file's runs
    format: str = ""  # if the writer has several
    up: int = 0  # how many folders above are not part of the run's name
    unique: str = ""  # tells it apart from other runs with its name

    @property
    def name(self) -> str:
        """The path that users see."""
        return f"{self.path}#{self.key}" if self.key else self.path


class Translator(Protocol):
    """Reads one log. It remembers its position, so each call of `read` adds only what is new."""

    problems: list[Problem]

    def read(self, sink: Sink) -> None:
        """Add what is new. Raises ReplacedError, or a SourceError if the log cannot be read now."""


def stamp_of_files(*paths: str) -> Stamp | None:
    """The stamp of a log in these files; the first must exist, the rest may be missing."""
    size, modified, marks = 0, 0.0, []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            if path == paths[0]:
                return None
            marks.append(-1)
            continue
        size += status.st_size
        modified = max(modified, status.st_mtime)
        marks += [status.st_ino, status.st_mtime_ns, status.st_size]
    return size, modified, tuple(marks)


class Format:
    """A format; `recognise.py` lists all of them."""

    def logs(self, path: str) -> Iterable[Log]:
        """The runs in a file; none if it is not of this format."""
        raise NotImplementedError

    def stamp(self, log: Log) -> Stamp | None:
        """The log's stamp; None if it does not exist."""
        return stamp_of_files(log.path)

    def translator(self, log: Log) -> Translator:
        """A reader of the log, from its start."""
        raise NotImplementedError


class Reached:
    """How far a file was read. Notices if the file was replaced, or was changed before that place."""

    def __init__(self) -> None:
        self.position = 0
        self._file: tuple[int, int] | None = None
        self._tail = 0

    def check(self, file: BinaryIO) -> int:
        """The file's size. Raises ReplacedError if this is not the file that was read, or no longer its bytes."""
        status = os.fstat(file.fileno())
        if self._file is None:
            self._file = status.st_dev, status.st_ino
        if self._file != (status.st_dev, status.st_ino) or status.st_size < self.position:
            raise ReplacedError
        if self._crc(file) != self._tail:
            raise ReplacedError
        return status.st_size

    def advance(self, file: BinaryIO, position: int) -> None:
        """Note that everything before `position` was read."""
        self.position = position
        self._tail = self._crc(file)

    def _crc(self, file: BinaryIO) -> int:
        begin = max(0, self.position - _TAIL)
        file.seek(begin)
        return zlib.crc32(file.read(self.position - begin))
