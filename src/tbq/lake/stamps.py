"""Whether a file is what it was when it was read: stamps that cost one `stat`, and the bytes around its old end."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.source import Run
    from tbq.source.remote import Remote

_HEAD, _TAIL = 256, 4096


#: What is known of a file: its path as text, its size, times and number.
Stamp = tuple[str, ...]
_FIELDS = 5


def stamps_of(run: Run) -> str:
    """The stamps of the files of a run, as text: the same text, the same bytes."""
    if run.remote is not None:
        return "\0".join([field for path in run.files for field in _stamp(run.remote, path)])
    return "\0".join([field for path in run.files for field in stamp_of(path)])


def stamps_in(text: str) -> list[Stamp]:
    """The stamps that a text has."""
    fields = text.split("\0")
    return [tuple(fields[i : i + _FIELDS]) for i in range(0, len(fields), _FIELDS)]


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


def marks_of(path: str, end: int) -> list[int]:
    """Checksums of the first bytes of a file and of those before `end`; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(min(_HEAD, end))
            file.seek(max(0, end - _TAIL))
            tail = file.read(min(_TAIL, end))
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
