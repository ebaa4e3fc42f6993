"""Fetches one remote object into a file: all of it, or only the bytes that were added; with bounded memory."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tbq.source.store import NoRangesError, Object, Store

PIECE = 8 << 20  # bytes per request
TOGETHER = 16  # pieces in memory at a time
_CHECKED = 16 << 10  # bytes to compare before the old end

_pieces = threading.BoundedSemaphore(TOGETHER)


def download(store: Store, version: Object, target: Path) -> None:
    """Write this version to a new file; raises `ChangedError` if the object has changed."""
    with target.open("wb"):
        pass
    if version.size == 0:
        return
    if version.size <= PIECE:
        with _pieces:
            _write(target, 0, store.get(version.key, etag=version.etag))
        return
    try:
        _pieces_into(store, version, target, 0)
    except NoRangesError:
        with target.open("wb") as file:
            for chunk in store.stream(version.key, version.etag):
                file.write(chunk)


def append(store: Store, version: Object, target: Path, digest: GrowingMD5 | None = None) -> bool:
    """Append an object's new bytes to its file, if the object still begins with the bytes of the file.

    Compares a few bytes before the old end; with `digest`, the checksum of the result must also equal the version's
    etag. Returns False if the object does not continue the file. Then, and after an error, the file is unchanged.
    """
    before = target.stat()
    have = before.st_size
    if not 0 < have < version.size:
        return False
    start = have - min(have, _CHECKED)
    end = min(start + PIECE, version.size)
    done = False
    try:
        with _pieces:
            data = store.get(version.key, start, end, version.etag)
            if data[: have - start] == _read(target, start, have - start):
                _write(target, have, data[have - start :])
                done = True
        if done and end < version.size:
            done = False
            _pieces_into(store, version, target, end)
            done = True
        done = done and (digest is None or digest.of(target) == version.etag)
    except NoRangesError:
        done = False
    finally:
        if not done:
            if target.stat().st_size != have:
                os.truncate(target, have)
                os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
            if digest is not None:
                digest.clear()
    return done


def begins_with(path: Path, other: Path) -> bool:
    """Whether a file begins with all bytes of another file."""
    with path.open("rb") as file, other.open("rb") as start:
        while data := start.read(1 << 20):
            if file.read(len(data)) != data:
                return False
    return True


def copy_rest(path: Path, target: Path) -> None:
    """Append to a file the bytes of a longer file that it lacks."""
    with path.open("rb") as file, target.open("ab") as rest:
        file.seek(rest.tell())
        shutil.copyfileobj(file, rest)


class GrowingMD5:
    """The MD5 of a growing file. Stores use the MD5 as the etag of an object that was written in one piece."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._state: Any = hashlib.md5(usedforsecurity=False)
        self._size = 0

    def of(self, path: Path) -> str:
        """The checksum of the whole file. Reads only the bytes that were added since the last call."""
        with path.open("rb") as file:
            file.seek(self._size)
            while data := file.read(1 << 20):
                self._state.update(data)
                self._size += len(data)
        return str(self._state.hexdigest())


def _pieces_into(store: Store, version: Object, target: Path, begin: int) -> None:
    """Fetch the rest of an object. On failure, truncates the file at the first gap, so that it has no hole."""
    starts = range(begin, version.size, PIECE)

    def piece(start: int) -> None:
        with _pieces:
            _write(
                target, start, store.get(version.key, start, min(start + PIECE, version.size), version.etag)
            )

    with ThreadPoolExecutor(min(8, len(starts)), "tbq-piece") as pool:
        waiting = [pool.submit(piece, start) for start in starts]
        for start, done in zip(starts, waiting, strict=True):
            try:
                done.result()
            except BaseException:
                for other in waiting:
                    other.cancel()
                pool.shutdown()
                os.truncate(target, start)
                raise


def _write(target: Path, start: int, data: bytes) -> None:
    with target.open("r+b") as file:
        file.seek(start)
        file.write(data)


def _read(target: Path, start: int, size: int) -> bytes:
    with target.open("rb") as file:
        file.seek(start)
        return file.read(size)
