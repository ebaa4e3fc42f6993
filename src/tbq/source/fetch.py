"""One remote object into a file: all of it, or what was added to it, with bounded memory."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


def append(store: Store, version: Object, target: Path) -> bool:
    """Add to a file what an object has after its end, if the object still has the same bytes before that end.

    False if it does not: then it is another object, and the file is as it was.
    """
    have = target.stat().st_size
    if not 0 < have < version.size:
        return False
    start = have - min(have, _CHECKED)
    end = min(start + PIECE, version.size)
    try:
        with _pieces:
            data = store.get(version.key, start, end, version.etag)
            if data[: have - start] != _read(target, start, have - start):
                return False
            _write(target, have, data[have - start :])
    except NoRangesError:
        return False
    if end < version.size:
        _pieces_into(store, version, target, end)
    return True


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
