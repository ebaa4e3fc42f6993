"""Whether a file is what it was when it was read: stamps that cost one `stat`, and the bytes around its old end."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.source import Run
    from tbq.source.remote import Remote

_HEAD, _TAIL = 256, 4096
_AT_ONCE = 1 << 14  # a second read would take longer


#: What is known of a file: its path as text, its size, times and number.
Stamp = tuple[str, ...]
_FIELDS = 5


def stamps_of(run: Run) -> str:
    """The stamps of the files of a run, as text: the same text, the same bytes, and the same said of copies."""
    remote = run.remote
    stamps = [stamp_of(path) if remote is None else _stamp(remote, path) for path in run.files]
    # Of a copy no byte is read.
    stamps += [(path_text(copy.path), "-1", path_text(copy.of), str(copy.exact), "") for copy in run.copies]
    return "\0".join([field for stamp in stamps for field in stamp])


def stamps_in(text: str) -> list[Stamp]:
    """The stamps that a text has."""
    fields = text.split("\0")
    return [tuple(fields[i : i + _FIELDS]) for i in range(0, len(fields), _FIELDS)]


def noted(stamps: str, notes: Sequence[str]) -> str:
    """Stamps with words about the runs that they are of.

    >>> noted("a 0 1", ["unfinished"])
    'a 0 1 unfinished'
    """
    return " ".join([stamps, *notes])


def notes_in(text: str) -> tuple[str, list[str]]:
    """The stamps, and the words that were noted beside them.

    >>> text = chr(0).join(("a b", "12", "1", "1", "7 unfinished unread:0,2"))
    >>> notes_in(text)[1]
    ['unfinished', 'unread:0,2']
    """
    before, zero, last = text.rpartition("\0")
    number, *notes = last.split(" ")
    return before + zero + number, notes


def bytes_in(text: str) -> int:
    """How many bytes the files have that stamps are of.

    >>> bytes_in(chr(0).join(("a", "12", "1", "1", "7", "b", "-1", "2", "", "")))
    12
    """
    return sum(max(0, int(size)) for size in text.split("\0")[1::_FIELDS])


def _stamp(remote: Remote, path: str) -> Stamp:
    version = remote.objects.get(path)
    if version is None:
        return stamp_of(path)
    return path_text(path), str(version.size), version.etag, "", ""


def stamp_of(path: str) -> Stamp:
    """What is known of a file."""
    try:
        info = os.stat(path)
    except OSError as failure:
        return path_text(path), "-1", str(failure.errno), "", ""
    changed = info.st_ctime_ns if os.name != "nt" else 0
    return path_text(path), str(info.st_size), str(info.st_mtime_ns), str(changed), str(info.st_ino)


def path_text(path: str) -> str:
    """A path as text that can be stored, whatever bytes it has."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def path_of(stamp: Stamp) -> str:
    """The path that a stamp is of.

    >>> path_of((path_text("a\\udcff"), "1", "1", "1", "1"))
    'a\\udcff'
    """
    text = stamp[0]
    return text if text.isascii() else os.fsdecode(text.encode("latin-1"))


def marks_of(path: str, end: int, since: float | None = None) -> list[int]:
    """Checksums of the first bytes of a file and of those before `end`.

    None if it cannot be read, or did not change after the time `since`.
    """
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            if since is not None and os.fstat(file).st_mtime < since:
                return []
            data = os.read(file, end if end <= _AT_ONCE else _HEAD)
            head, tail = data[:_HEAD], data[-_TAIL:]
            if end > _AT_ONCE:
                os.lseek(file, end - _TAIL, os.SEEK_SET)
                tail = os.read(file, _TAIL)
        finally:
            os.close(file)
    except OSError:
        return []
    return [zlib.crc32(head), zlib.crc32(tail), len(head) + len(tail)]


def starts_anew(path: str, offset: int) -> bool:
    """Whether the record at `offset` may begin a session with an empty file_version, which no report shows."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            header = file.read(12)  # the length of the record's data, and its checksum
            return b"\x1a\x00" in file.read(min(64, int.from_bytes(header[:8], "little")))
    except OSError:
        return True
