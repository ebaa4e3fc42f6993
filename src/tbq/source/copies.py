"""Finds copies of an event file beside it: the same bytes, or an older backup that the file begins with.

A copy has the same rows as its file, so a run reads only one of them. Only runs of several files are checked, and only
files that begin alike are compared: the first record of an event file has the time of its creation.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from tbq.problems import Problem
from tbq.source.inflate import Stamp, stamp_of
from tbq.source.urls import is_remote
from tbq.text import shell_word, shown_path

if TYPE_CHECKING:
    import gzip

    from tbq.source.formats.translation import Translations
    from tbq.source.remote import Remote

_HEAD = 40  # bytes of the first record that every writer writes, with its time
_BLOCK = 1 << 18
_GZIP = b"\x1f\x8b"
_MD5 = re.compile(r"[0-9a-f]{32}")


class Copy(NamedTuple):
    """A file that is not read, because `of` has all of its bytes. `stamps` are the two files' stamps at that time."""

    run: str
    path: str
    of: str
    exact: bool
    stamps: tuple[Stamp | None, Stamp | None] = (None, None)

    @property
    def message(self) -> str:
        """What the file is a copy of, and the consequence."""
        beside = os.path.dirname(self.of) == os.path.dirname(self.path)
        name = shown_path(os.path.basename(self.of) if beside else self.of)
        if self.exact:
            return f"is a copy of {name}, so its rows count once"
        return f"is an older copy of {name}, which begins with all of its bytes, so its rows count once"

    @property
    def hint(self) -> str:
        """How to get rid of it."""
        return f"remove it, or move it to another directory: mv {shell_word(self.path)} DIR"

    def problem(self) -> Problem:
        """The copy as a reported problem of severity `info`: nothing is lost."""
        return Problem("copy", "info", self.message, path=self.path, run=self.run, hint=self.hint)

    def is_settled(self) -> bool:
        """Whether both files are unchanged, except that the file that is read may have grown."""
        if is_remote(self.path):
            return True  # objects are listed again anyway
        copy, file = stamp_of(self.path), stamp_of(self.of)
        before = self.stamps[1]
        if copy is None or file is None or before is None or copy != self.stamps[0]:
            return False
        return file == before or (file[:2] == before[:2] and file[2] > before[2])


def without_copies(
    run: str, files: Sequence[str], remote: Remote | Translations | None
) -> tuple[list[str], list[Copy]]:
    """The files of a run to read, in their order, and the copies of them."""
    alike: dict[object, list[str]] = {}
    for path in files:
        if remote is not None and remote.has(path):
            begin = _remote_key(path, remote) if is_remote(path) else None
        else:
            begin = _head(path)
        if begin is not None:
            alike.setdefault(begin, []).append(path)
    copies: list[Copy] = []
    for group in alike.values():
        if len(group) > 1:
            copies += _in_group(run, group)
    if not copies:
        return list(files), []
    left_out = {copy.path for copy in copies}
    return [path for path in files if path not in left_out], copies


def _in_group(run: str, group: Sequence[str]) -> list[Copy]:
    """The copies among files that begin alike. Of equal files the first is read, preferably an uncompressed one."""
    copies: dict[str, tuple[str, bool]] = {}
    kept: list[str] = []
    stamps = {path: stamp_of(path) for path in group}  # before reading them, so that a later change shows
    for path in sorted(group, key=_is_packed):
        for at, other in enumerate(kept):
            longer = _compared(path, other)
            if longer is None:
                continue
            if longer > 0:  # the file kept so far is the older copy
                copies = {
                    each: (path, False) if of == other else (of, exact)
                    for each, (of, exact) in copies.items()
                }
                copies[other] = path, False
                kept[at] = path
            else:
                copies[path] = other, longer == 0
            break
        else:
            kept.append(path)
    return [Copy(run, path, of, exact, (stamps[path], stamps[of])) for path, (of, exact) in copies.items()]


def _remote_key(url: str, remote: Remote | Translations) -> object:
    """A key that only equal objects share: an etag that is an MD5. Different objects may share other forms of etags."""
    version = remote.objects.get(url)
    return ("", version.size, version.etag) if version and _MD5.fullmatch(version.etag.strip('"')) else None


def _head(path: str) -> bytes | None:
    """The start of a file, unpacked; None if it has no more than its first record, or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            start = os.read(descriptor, 1 << 12)
        finally:
            os.close(descriptor)
        if start[:2] == _GZIP:
            start = zlib.decompressobj(31).decompress(start, 1 << 12)
    except (OSError, zlib.error):
        return None
    record = int.from_bytes(start[:8], "little") + 16
    return start[:_HEAD] if len(start) > _HEAD and (len(start) > record or record > 1 << 12) else None


def _is_packed(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == _GZIP
    except OSError:
        return False


def _compared(path: str, other: str) -> int | None:
    """0 if the files are equal, 1 if the first continues after the end of the second, -1 the reverse; else None."""
    if is_remote(path):
        return 0  # equal by their etags
    try:
        with _opened(path) as first, _opened(other) as second:
            while True:
                block, beside = first.read(_BLOCK), second.read(_BLOCK)
                shared = min(len(block), len(beside))
                if block[:shared] != beside[:shared]:
                    return None
                if len(block) != len(beside) or not block:
                    return (len(block) > len(beside)) - (len(block) < len(beside))
    except (OSError, EOFError, zlib.error):
        return None


def _opened(path: str) -> IO[bytes] | gzip.GzipFile:
    file = open(path, "rb")  # noqa: SIM115
    if file.read(2) == _GZIP:
        file.close()
        import gzip

        return gzip.open(path)
    file.seek(0)
    return file
