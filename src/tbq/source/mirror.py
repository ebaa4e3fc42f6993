"""`Mirror`: the files that one reader has of remote objects, fetched in parallel, and which URL each of them is."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from tbq.errors import SourceError
from tbq.progress import Call
from tbq.scratch import Scratch
from tbq.source.cache import Cache, Copy, give
from tbq.source.fetch import append, download
from tbq.source.origin import forget, note, stands_for
from tbq.source.store import STORE_FAILED, ChangedError, MissingObjectError, Object, Store

_TOGETHER = 16  # objects that are fetched at a time
_ATTEMPTS = 5  # at an object that changes while it is read
_SETTLED = 3600.0  # seconds after which an object is not expected to grow
_HOPELESS = 16  # failures in a row after which the rest is not tried


@dataclass
class _Held:
    path: Path
    version: Object | None = None  # None if it has not been fetched
    asked: str = ""  # the etag that was asked for, if a newer one came
    linked: bool = False  # to the copy in the cache, which is not written to


class Mirror:
    """Files that stand for remote objects. With `live` an object that grew grows in its place."""

    def __init__(self, cache: Cache, live: bool = False) -> None:
        self._cache = cache
        self._live = live
        self._held: dict[str, _Held] = {}
        self._scratch: Scratch | None = None
        self._count = 0
        self._lock = threading.Lock()

    def path(self, url: str) -> str:
        """Where the file is, or will be when it has been fetched."""
        with self._lock:
            return str(self._hold(url).path)

    def fetch(
        self,
        wanted: Mapping[str, tuple[Store, Object]],
        progress: Call | None = None,
        most: int | None = None,
    ) -> int:
        """Make the files of these versions, or newer ones; objects that cannot be fetched have none.

        About `most` bytes are fetched; returns how many are left. Raises if not one could be fetched.
        """
        if not self._live:
            self._make_room(wanted)
        missing = [url for url, (_, version) in wanted.items() if not self._have(url, version)]
        left = 0
        if most is not None:
            missing, left = _first_bytes(missing, wanted, most)
        if not missing:
            return left
        total = sum(wanted[url][1].size for url in missing)
        done = bad = 0
        for files, (url, error) in enumerate(self._all(missing, wanted), 1):
            done += wanted[url][1].size
            note(url, None if error is None else error.message)
            if error is None:
                bad = 0
            else:
                bad += error.code in STORE_FAILED
                if (error.code in STORE_FAILED and bad == files) or bad >= _HOPELESS:
                    raise error
            if progress is not None:
                progress(done, total, files, len(missing))
        self._cache.trim()
        return left

    def _all(
        self, urls: list[str], wanted: Mapping[str, tuple[Store, Object]]
    ) -> Iterator[tuple[str, SourceError | None]]:
        """Fetch objects, several at a time; each with what went wrong."""
        pool = ThreadPoolExecutor(min(_TOGETHER, len(urls)), "tbq-fetch")
        waiting: dict[Future[None], str] = {}
        coming = iter(urls)
        try:
            while True:
                for url in coming:
                    waiting[pool.submit(self._bring, url, *wanted[url])] = url
                    if len(waiting) >= 4 * _TOGETHER:
                        break
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    url = waiting.pop(future)
                    try:
                        future.result()
                    except SourceError as error:
                        yield url, error
                    except OSError as full:
                        raise self._unwritable(full) from full
                    else:
                        yield url, None
        finally:
            pool.shutdown(cancel_futures=True)

    def _have(self, url: str, version: Object) -> bool:
        """Whether the file is there, perhaps after a look into the cache."""
        held = self._held.get(url)
        if held is not None and held.version is not None:
            return version.etag in (held.version.etag, held.asked) and held.path.exists()
        return self._take(url, version)

    def _take(self, url: str, version: Object) -> bool:
        """Have the file from the cache, if it is there."""
        with self._lock:
            path = self._hold(url).path
        link = self._links(version)
        path.unlink(missing_ok=True)
        if not self._cache.take(Copy.of(url, version.etag, version.size), path, link):
            return False
        self._settle(url, _Held(path, version, linked=link))
        return True

    def _links(self, version: Object) -> bool:
        """Whether a file may be a link to the cache: a live one that may grow is a copy."""
        return not self._live or time.time() - version.modified > _SETTLED

    def _bring(self, url: str, store: Store, version: Object) -> None:
        asked = version.etag
        for _ in range(_ATTEMPTS):
            try:
                self._bring_version(url, store, version)
                self._held[url].asked = asked
                return
            except MissingObjectError:
                raise _deleted(url) from None
            except ChangedError:
                newer = store.head(version.key)
                if newer is None:
                    raise _deleted(url) from None
                version = newer
        raise ChangedError("changes faster than it can be read", path=url, code="changed")

    def _bring_version(self, url: str, store: Store, version: Object) -> None:
        with self._lock:
            held = self._hold(url)
        if held.version is not None:
            if self._live and not held.linked and append(store, version, held.path):
                os.utime(held.path, (time.time(), version.modified))
                self._settle(url, _Held(held.path, version))
                return
            if self._live and held.version.size == version.size:
                self._cached(url, store, version)
                if _is_same(held.path, self._cache.path(Copy.of(url, version.etag, version.size))):
                    self._settle(
                        url, _Held(held.path, version, linked=held.linked)
                    )  # it was written once more
                    return
            self._drop(url)  # another object: it is another file
        if not self._take(url, version):
            self._cached(url, store, version, adopt=True)

    def _cached(self, url: str, store: Store, version: Object, adopt: bool = False) -> None:
        """Have a version in the cache; with `adopt` have its file first, since others may clear the cache."""
        copy = Copy.of(url, version.etag, version.size)
        if not adopt and self._cache.path(copy).exists():
            return
        assert self._scratch is not None
        scratch = self._scratch.folder / f"new-{threading.get_ident()}"
        old = self._cache.newest(url)
        try:
            grown = False
            if old is not None and old.size < version.size and self._cache.take(old, scratch, link=False):
                grown = append(store, version, scratch)
            if not grown:
                download(store, version, scratch)
            os.utime(scratch, (time.time(), version.modified))
            if adopt:
                with self._lock:
                    path = self._hold(url).path
                path.unlink(missing_ok=True)
                give(scratch, path, self._links(version))
                self._settle(url, _Held(path, version, linked=self._links(version)))
            self._cache.add(copy, scratch)
        finally:
            scratch.unlink(missing_ok=True)

    def _hold(self, url: str) -> _Held:
        if self._scratch is None or not self._scratch.is_ours:  # after a fork the files are the parent's
            self._scratch = self._cache.scratch()
            self._held.clear()
            weakref.finalize(self, _forget, self._scratch)
        held = self._held.get(url)
        if held is None:
            self._count += 1
            held = self._held[url] = _Held(self._scratch.folder / f"{self._count}.events")
            stands_for(str(held.path), url)
        return held

    def _settle(self, url: str, held: _Held) -> None:
        with self._lock:
            self._held[url] = held

    def _drop(self, url: str) -> None:
        with self._lock:
            held = self._held.pop(url)
            held.path.unlink(missing_ok=True)
            self._hold(url)

    def _make_room(self, wanted: Iterable[str]) -> None:
        """Let go of what is not wanted now, if there is more than the cache may hold: it can be fetched again."""
        with self._lock:
            size = sum(held.version.size for held in self._held.values() if held.version is not None)
            if size <= self._cache.limit:
                return
            keep = set(wanted)
            for url, held in self._held.items():
                if url not in keep and held.version is not None:
                    held.path.unlink(missing_ok=True)
                    held.version = None

    def _unwritable(self, failure: OSError) -> SourceError:
        reason = (failure.strerror or str(failure)).lower()
        return SourceError(
            f"a copy of a remote object cannot be written: {reason}",
            path=self._cache.folder,
            hint="free some space, or name another folder: --cache DIR, TBQ_CACHE",
            code="cache",
        )


def _first_bytes(
    urls: list[str], wanted: Mapping[str, tuple[Store, Object]], most: int
) -> tuple[list[str], int]:
    """Those that have about so many bytes together, at least one; and the bytes of the others."""
    taken: list[str] = []
    size = left = 0
    for url in urls:
        of_url = wanted[url][1].size
        if taken and size + of_url > most:
            left += of_url
        else:
            taken.append(url)
            size += of_url
    return taken, left


def _is_same(path: Path, other: Path) -> bool:
    """Whether two files have the same bytes."""
    import filecmp

    try:
        return filecmp.cmp(path, other, shallow=False)
    except OSError:
        return False


def _deleted(url: str) -> MissingObjectError:
    return MissingObjectError("was deleted while it was read", path=url, code="missing")


def _forget(scratch: Scratch) -> None:
    forget(str(scratch.folder) + os.sep)
    scratch.remove()
