"""Whether a file is what it was when it was read: stamps that cost one `stat`, and the bytes around its old end."""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbq.source import Run

_HEAD, _TAIL = 256, 4096


def stamps_of(run: Run) -> str:
    """The path, size, times and number of each file of a run, as text: the same text, the same bytes."""
    return json.dumps([stamp_of(path) for path in run.files])


def stamp_of(path: str) -> list[Any]:
    """The path of a file, its size, times and number."""
    try:
        info = os.stat(path)
    except OSError as failure:
        return [path, -1, failure.errno or 0, 0, 0]
    return [path, info.st_size, info.st_mtime_ns, info.st_ctime_ns if os.name != "nt" else 0, info.st_ino]


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
