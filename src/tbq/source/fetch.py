"""One remote object into a file: all of it, or what was added to it, with bounded memory."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tbq.source.store import NoRangesError, Object, Store

PIECE = 8 << 20  # bytes of one request
TOGETHER = 16  # pieces in memory
_CHECKED = 16 << 10  # bytes before the old end that are compared

_pieces = threading.BoundedSemaphore(TOGETHER)


def download(store: Store, version: Object, target: Path) -> None:
    """Write this version to a new file; raises `ChangedError` if there is another one by now."""
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
    """Add to a file what an object has after its end, if the object still has the same bytes before that end.

    Of those a few are compared; with `digest` the result must have the checksum that the version's etag is. False if
    it is another object: then the file is as it was, as it is after an error.
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
    """Whether a file has all bytes of another one at its beginning."""
    with path.open("rb") as file, other.open("rb") as start:
        while data := start.read(1 << 20):
            if file.read(len(data)) != data:
                return False
    return True


def copy_rest(path: Path, target: Path) -> None:
    """Add to a file what another one has after its end."""
    with path.open("rb") as file, target.open("ab") as rest:
        file.seek(rest.tell())
        shutil.copyfileobj(file, rest)


class GrowingMD5:
    """The MD5 of a file that grows, which is the etag of an object that was written in one piece."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._state: Any = hashlib.md5(usedforsecurity=False)
        self._size = 0

    def of(self, path: Path) -> str:
        """The checksum of the whole file; only what was added since the last call is read."""
        with path.open("rb") as file:
            file.seek(self._size)
            while data := file.read(1 << 20):
                self._state.update(data)
                self._size += len(data)
        return str(self._state.hexdigest())


def _pieces_into(store: Store, version: Object, target: Path, begin: int) -> None:
    """The rest of an object. If it fails the file has no hole: what was written after the first gap is cut off."""
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
