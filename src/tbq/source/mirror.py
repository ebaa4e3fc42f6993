"""`Mirror`: one reader's local copies of remote objects, fetched in parallel."""

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
from tbq.source.cache import Cache, CachedCopy, give
from tbq.source.fetch import GrowingMD5, append, begins_with, copy_rest, download
from tbq.source.origin import forget, note, stands_for
from tbq.source.store import ChangedError, MissingObjectError, Object, Store

_TOGETHER = 16  # objects fetched at a time
_ATTEMPTS = 5  # to fetch an object that changes while it is read
_SETTLED = 3600.0  # seconds after its last change when an object is no longer expected to grow
_HOPELESS = 16  # failures in a row after which tbq checks whether the store answers at all
# Bytes: a smaller object is fetched completely unless a checksum can prove that an appended part fits.
_SMALL = 1 << 20
_LEARN = 64 << 20  # bytes: the largest object to checksum in order to learn whether etags are checksums
# Seconds without a change, after which a file that was extended without proof is compared completely.
_QUIET = 600.0
_CLOCK = 2.0  # seconds: a version identified only by its time may have changed again within this time


@dataclass
class _Held:
    path: Path
    version: Object | None = None  # None if it has not been fetched
    linked: bool = False  # to the copy in the cache, which must not be written to
    fetched: float = 0.0  # when the last fetch began: later changes may be missing
    proven: int | None = None  # bytes that were fetched in one version, if more were appended without proof
    digest: GrowingMD5 | None = None  # of a growing file


class Mirror:
    """Local copies of remote objects. With `live`, the copy of an object that grows is extended in place.

    If an object grew and its etag is the checksum of all bytes, only the new bytes are fetched, and the checksum proves
    the result. If etags are not checksums, a live file is extended after comparing the bytes near its old end. Such a
    file is fetched as a whole while it is small, if it was damaged, when it has doubled, and once the object no longer
    changes.
    """

    def __init__(self, cache: Cache, live: bool = False) -> None:
        self._cache = cache
        self._live = live
        self._held: dict[str, _Held] = {}
        self._scratch: Scratch | None = None
        self._count = 0
        self._lock = threading.Lock()
        self._fetching = threading.RLock()  # two threads must not replace each other's files
        # Thread → the URLs of its last fetch, which it may still be reading.
        self._wanted: dict[int, set[str]] = {}
        self._tried: set[str] = set()  # URLs that failed since `begin`
        self._damaged: set[str] = set()

    def path(self, url: str) -> str:
        """The path of the file, which may not have been fetched yet."""
        with self._lock:
            return str(self._hold(url).path)

    def begin(self) -> None:
        """Allow failed objects to be tried again."""
        self._tried.clear()

    def doubt(self, url: str) -> None:
        """Note that the file is damaged: a new version of the object may differ from it anywhere."""
        self._damaged.add(url)

    def version(self, url: str) -> Object | None:
        """The version of the fetched file; None if there is no file."""
        held = self._held.get(url)
        return held.version if held is not None else None

    def fetch(
        self,
        wanted: Mapping[str, tuple[Store, Object]],
        progress: Call | None = None,
        most: int | None = None,
    ) -> int:
        """Fetch these versions, or newer ones. An object that cannot be fetched has no file, or an old one.

        Fetches about `most` bytes and returns how many are left. Raises if the store no longer answers.
        """
        with self._fetching:
            return self._fetch(wanted, progress, most)

    def _fetch(
        self, wanted: Mapping[str, tuple[Store, Object]], progress: Call | None, most: int | None
    ) -> int:
        if not self._live:
            self.begin()
            self._make_room(wanted)
        missing = []
        for url, (_, version) in wanted.items():
            if self._have(url, version):
                note(self.path(url), None)
            elif url not in self._tried:
                missing.append(url)
        left = 0
        if most is not None:
            missing, left = _first_bytes(missing, wanted, most)
        if not missing:
            return left
        total = sum(max(wanted[url][1].size, 0) for url in missing)
        done = bad = 0
        for files, (url, error) in enumerate(self._all(missing, wanted), 1):
            done += max(wanted[url][1].size, 0)
            note(self.path(url), error)
            bad = bad + 1 if error is not None and error.code == "remote" else 0
            if error is not None:
                self._tried.add(url)
                if bad >= _HOPELESS:
                    store, version = wanted[url]
                    if not store.answers(version.key):
                        raise error
                    bad = 0
            if progress is not None:
                progress(done, total, files, len(missing))
        self._cache.trim()
        return left

    def _all(
        self, urls: list[str], wanted: Mapping[str, tuple[Store, Object]]
    ) -> Iterator[tuple[str, SourceError | None]]:
        """Fetch objects, several at a time; yields each URL with its error, if any."""
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
        """Whether the file exists in this version, possibly taken from the cache just now."""
        held = self._held.get(url)
        if held is not None and held.version is not None:
            quiet = held.proven is not None and time.time() - version.modified > _QUIET
            # A log that is not followed stays as it was listed: its tables agree, and none loses its file.
            doubtful = self._live and (quiet or _is_too_new(version, held.fetched))
            same = (held.version.etag, held.version.size) == (version.etag, version.size)
            return not doubtful and same and held.path.exists()
        return self._take(url, version)

    def _take(self, url: str, version: Object) -> bool:
        """Take the file from the cache, if the cache has it."""
        with self._lock:
            path = self._hold(url).path
        link = self._links(version)
        path.unlink(missing_ok=True)
        if not self._cache.take(CachedCopy.of(url, version.etag, version.size), path, link):
            return False
        self._settle(url, _Held(path, version, linked=link, fetched=time.time()))
        return True

    def _links(self, version: Object) -> bool:
        """Whether a file may be a link to the cache. A live file that may grow must be a copy."""
        return not self._live or time.time() - version.modified > _SETTLED

    def _bring(self, url: str, store: Store, version: Object) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                if version.is_known:
                    self._bring_version(url, store, version)
                    return
            except MissingObjectError:
                raise _deleted(url) from None
            except ChangedError:
                pass
            # If HEAD and GET of a server disagree, trust GET.
            newer = (store.head_of_get if attempt and store.place.is_http else store.head)(version.key)
            if newer is None:
                raise _deleted(url)
            if self._have(url, newer):
                return
            version = newer
        raise ChangedError("changes faster than it can be read", path=url, code="changed")

    def _bring_version(self, url: str, store: Store, version: Object) -> None:
        began = time.time()
        with self._lock:
            held = self._hold(url)
        if not (self._live and held.version is not None and self._grows(url, store, version, held, began)):
            self._adopt(url, store, version, began)

    def _grows(self, url: str, store: Store, version: Object, held: _Held, began: float) -> bool:
        """Append the new bytes of an object to its file; False if the object changed in another way."""
        assert held.version is not None
        old = held.version.size
        if version.size < old or (held.linked and version.size > old):
            return False
        is_checksum = store.is_checksum(version.etag)
        proven = old if held.proven is None else held.proven
        is_large = version.size > _SMALL and version.size < 2 * proven and url not in self._damaged
        if version.size > old and (is_checksum or is_large):
            if is_checksum and held.digest is None:
                held.digest = GrowingMD5()
            if not append(store, version, held.path, held.digest if is_checksum else None):
                return False
            held.proven = None if is_checksum else proven
        elif self._continues(url, store, version, held, began):
            held.proven = None
        else:
            return False
        if version.size > old:
            os.utime(held.path, (time.time(), version.modified))
        held.version, held.fetched = version, began
        return True

    def _continues(self, url: str, store: Store, version: Object, held: _Held, began: float) -> bool:
        """Fetch a whole version. If it begins with the bytes of the file, append the rest to the file."""
        assert self._scratch is not None
        scratch = self._scratch.folder / f"whole-{threading.get_ident()}"
        try:
            download(store, version, scratch)
            same = begins_with(scratch, held.path)
            if same and version.size > held.path.stat().st_size:
                copy_rest(scratch, held.path)
            self._cache_file(url, version, scratch, began)  # if it differs, `_adopt` uses this copy
            self._damaged.discard(url)
            return same
        finally:
            scratch.unlink(missing_ok=True)

    def _cache_file(self, url: str, version: Object, complete: Path, began: float) -> None:
        """Keep a complete file in the cache, if its version is identified reliably."""
        os.utime(complete, (time.time(), version.modified))
        if not _is_too_new(version, began):
            self._cache.add(CachedCopy.of(url, version.etag, version.size), complete)

    def _adopt(self, url: str, store: Store, version: Object, began: float) -> None:
        """Replace the file by another version. The old file stays until the new one is complete.

        The file is created before its copy in the cache, because another process may clear the cache.
        """
        assert self._scratch is not None
        scratch = self._scratch.folder / f"new-{threading.get_ident()}"
        link = self._links(version) and not _is_too_new(version, began)
        try:
            cached = self._cache.take(CachedCopy.of(url, version.etag, version.size), scratch, link)
            if not cached:
                self._complete(url, store, version, scratch)
                os.utime(scratch, (time.time(), version.modified))
            self._drop(url)  # a replaced object gets a new file
            path = Path(self.path(url))
            give(scratch, path, link)
            self._settle(url, _Held(path, version, linked=link, fetched=began))
            self._damaged.discard(url)
            if not cached:
                self._cache_file(url, version, scratch, began)
        finally:
            scratch.unlink(missing_ok=True)

    def _complete(self, url: str, store: Store, version: Object, scratch: Path) -> None:
        """Fetch a version, or only the bytes that the cache's older version lacks."""
        old = self._cache.newest(url)
        if (
            old is not None
            and old.size < version.size
            and store.is_checksum(version.etag)
            and self._cache.take(old, scratch, link=False)
            and append(store, version, scratch, GrowingMD5())
        ):
            return
        scratch.unlink(missing_ok=True)
        download(store, version, scratch)
        if version.size <= _LEARN:
            store.learn(version.etag, lambda: GrowingMD5().of(scratch))

    def _hold(self, url: str) -> _Held:
        if self._scratch is None or not self._scratch.is_ours:  # after a fork the files belong to the parent
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
            held = self._hold(url)
            if held.version is not None:
                del self._held[url]
            held.path.unlink(missing_ok=True)

    def _make_room(self, wanted: Iterable[str]) -> None:
        """If the files exceed the cache's limit, delete those that no thread wants now: they can be fetched again."""
        running = {thread.ident for thread in threading.enumerate()}
        self._wanted = {thread: urls for thread, urls in self._wanted.items() if thread in running}
        self._wanted[threading.get_ident()] = set(wanted)
        with self._lock:
            size = sum(held.version.size for held in self._held.values() if held.version is not None)
            if size <= self._cache.limit:
                return
            keep = set().union(*self._wanted.values())
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
    """At least one URL, and as many as have about `most` bytes together; and the bytes of the other URLs."""
    chosen: list[str] = []
    size = left = 0
    for url in urls:
        of_url = max(wanted[url][1].size, 0)
        if chosen and size + of_url > most:
            left += of_url
        else:
            chosen.append(url)
            size += of_url
    return chosen, left


def _is_too_new(version: Object, fetched: float) -> bool:
    """Whether an object may have changed after the fetch began, but kept its version."""
    return version.is_made_up and abs(fetched - version.modified) < _CLOCK


def _deleted(url: str) -> MissingObjectError:
    return MissingObjectError("was deleted while it was read", path=url, code="missing")


def _forget(scratch: Scratch) -> None:
    forget(str(scratch.folder) + os.sep)
    scratch.remove()
