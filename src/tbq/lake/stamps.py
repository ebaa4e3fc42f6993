"""Tells whether a file changed since it was read: by stamps that cost one `stat`, and by checksums of its bytes."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.source import Run
    from tbq.source.formats.translation import Translations
    from tbq.source.remote import Remote

_HEAD, _TAIL = 256, 4096
_AT_ONCE = 1 << 14  # up to this size, one read is faster than two


#: A file's path as text, its size, times and inode number.
Stamp = tuple[str, ...]
_FIELDS = 5


def stamps_of(run: Run) -> str:
    """The stamps of a run's files and copies, as text. Equal text means that nothing changed."""
    remote = run.remote
    stamps = [stamp_of(path) if remote is None else _stamp(remote, path) for path in run.files]
    # Copies are never read, so their size does not matter.
    stamps += [(path_text(copy.path), "-1", path_text(copy.of), str(copy.exact), "") for copy in run.copies]
    return "\0".join([field for stamp in stamps for field in stamp])


def stamps_in(text: str) -> list[Stamp]:
    """The stamps in a text."""
    fields = text.split("\0")
    return [tuple(fields[i : i + _FIELDS]) for i in range(0, len(fields), _FIELDS)]


def noted(stamps: str, notes: Sequence[str]) -> str:
    """Append notes about the run to its stamps.

    >>> noted("a 0 1", ["unfinished"])
    'a 0 1 unfinished'
    """
    return " ".join([stamps, *notes])


def notes_in(text: str) -> tuple[str, list[str]]:
    """The stamps, and the notes that `noted` appended.

    >>> text = chr(0).join(("a b", "12", "1", "1", "7 unfinished unread:0,2"))
    >>> notes_in(text)[1]
    ['unfinished', 'unread:0,2']
    """
    before, zero, last = text.rpartition("\0")
    number, *notes = last.split(" ")
    return before + zero + number, notes


def bytes_in(text: str) -> int:
    """The total bytes of the files in a text of stamps.

    >>> bytes_in(chr(0).join(("a", "12", "1", "1", "7", "b", "-1", "2", "", "")))
    12
    """
    return sum(max(0, int(size)) for size in text.split("\0")[1::_FIELDS])


def _stamp(remote: Remote | Translations, path: str) -> Stamp:
    version = remote.objects.get(path)
    if version is None:
        return stamp_of(path)
    return path_text(path), str(version.size), version.etag, "", ""


def stamp_of(path: str) -> Stamp:
    """The stamp of a file."""
    try:
        info = os.stat(path)
    except OSError as failure:
        return path_text(path), "-1", str(failure.errno), "", ""
    changed = info.st_ctime_ns if os.name != "nt" else 0
    return path_text(path), str(info.st_size), str(info.st_mtime_ns), str(changed), str(info.st_ino)


def path_text(path: str) -> str:
    """A path as text that can be stored, even if its bytes are not UTF-8."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def path_of(stamp: Stamp) -> str:
    """The path of a stamp.

    >>> path_of((path_text("a\\udcff"), "1", "1", "1", "1"))
    'a\\udcff'
    """
    text = stamp[0]
    return text if text.isascii() else os.fsdecode(text.encode("latin-1"))


def marks_of(path: str, end: int, since: float | None = None) -> list[int]:
    """Checksums of the first bytes of a file and of the bytes before `end`.

    Empty if the file cannot be read, or did not change after the time `since`.
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
    """Whether the record at `offset` may begin a session with an empty file_version, which reports do not show."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            header = file.read(12)  # the length of the record's data, and its checksum
            return b"\x1a\x00" in file.read(min(64, int.from_bytes(header[:8], "little")))
    except OSError:
        return True
