"""`Cache`: copies of remote objects on this disk, bounded in size, shared by any number of processes without a lock.

A copy is named after its URL, its etag and its size, and gets that name only when it is complete, so a file with the
right name has the right bytes. It is never written to after that. Readers link copies into a folder of their own
(`Mirror`), so a copy can be removed at any moment. A copy's access time is the time of its last use, its modification
time is that of the object.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
import time
from pathlib import Path
from typing import NamedTuple

from tbq.errors import SourceError
from tbq.scratch import Scratch

_FOLDER = "objects"
_SUFFIX = ".events"
_RECENT = 600.0  # seconds for which the access time of a copy need not be updated


class CachedCopy(NamedTuple):
    """A copy: the digests of its URL and etag, and its size."""

    url: str
    etag: str
    size: int

    @classmethod
    def of(cls, url: str, etag: str, size: int) -> CachedCopy:
        return cls(_digest(url), _digest(etag)[:16], size)

    @property
    def name(self) -> str:
        return f"{self.url}-{self.etag}-{self.size}{_SUFFIX}"

    @classmethod
    def named(cls, name: str) -> CachedCopy | None:
        parts = name.removesuffix(_SUFFIX).split("-")
        if not name.endswith(_SUFFIX) or len(parts) != 3 or not parts[2].isdigit():
            return None
        return cls(parts[0], parts[1], int(parts[2]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40]


def give(source: Path, target: Path, link: bool) -> None:
    """Link a file to a second name, or copy it with its times."""
    if link:
        with contextlib.suppress(OSError):  # a file system without links, or with too many of this file
            os.link(source, target)
            return
    shutil.copyfile(source, target)
    shutil.copystat(source, target)


class Cache:
    """The copies below a folder. `trim` reduces them to `limit` bytes."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._objects = folder / _FOLDER
        self._known: dict[str, CachedCopy] | None = None  # URL → its newest known copy
        self._lock = threading.Lock()

    def scratch(self) -> Scratch:
        """A folder on the same disk that is deleted when this process ends."""
        try:
            self._objects.mkdir(mode=0o700, parents=True, exist_ok=True)
            return Scratch(self.folder, "files")
        except OSError as failure:
            reason = (failure.strerror or str(failure)).lower()
            raise SourceError(
                f"the cache of remote objects cannot be created: {reason}",
                path=self.folder,
                hint="name another folder: --cache DIR, TBQ_CACHE",
                code="cache",
            ) from None

    def path(self, copy: CachedCopy) -> Path:
        return self._objects / copy.url[:2] / copy.name

    def newest(self, url: str) -> CachedCopy | None:
        """The largest copy of a URL, in any version. The folder is listed once; later additions are included."""
        with self._lock:
            if self._known is None:
                self._known = {}
                for copy, _ in self._listed():
                    other = self._known.get(copy.url)
                    if other is None or copy.size > other.size:
                        self._known[copy.url] = copy
            return self._known.get(_digest(url))

    def take(self, copy: CachedCopy, target: Path, link: bool = True) -> bool:
        """Link a copy to `target`, or copy it there if `link=False`; returns False if the cache does not have it."""
        source = self.path(copy)
        try:
            status = source.stat()
            if status.st_size != copy.size:  # the disk was full, or the file system lost its end
                source.unlink(missing_ok=True)
                return False
            if time.time() - status.st_atime > _RECENT:
                os.utime(source, ns=(time.time_ns(), status.st_mtime_ns))
            give(source, target, link)
        except FileNotFoundError:
            return False
        return True

    def add(self, copy: CachedCopy, complete: Path) -> None:
        """Move a complete file into the cache."""
        target = self.path(copy)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            complete.replace(target)
        except PermissionError:  # Windows: another process has the same copy open
            if not target.exists():
                raise
        with self._lock:
            old = self._known.get(copy.url) if self._known is not None else None
            if self._known is not None:
                self._known[copy.url] = copy
        if old is not None and old != copy:
            with contextlib.suppress(OSError):
                self.path(old).unlink(missing_ok=True)

    def trim(self) -> None:
        """Remove the least recently used copies until the rest fits."""
        files = []
        for copy, path in self._listed():
            with contextlib.suppress(OSError):
                status = path.stat()
                files.append((status.st_atime, status.st_size, path, copy))
        total = sum(size for _, size, _, _ in files)
        for _, size, path, copy in sorted(files, key=lambda file: file[0]):
            if total <= self.limit:
                break
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
                total -= size
            with self._lock:
                if self._known is not None and self._known.get(copy.url) == copy:
                    del self._known[copy.url]

    def _listed(self) -> list[tuple[CachedCopy, Path]]:
        copies = []
        with contextlib.suppress(OSError):
            for shard in os.scandir(self._objects):
                with contextlib.suppress(OSError):
                    for entry in os.scandir(shard.path):
                        copy = CachedCopy.named(entry.name)
                        if copy is not None:
                            copies.append((copy, Path(entry.path)))
        return copies
