"""A lake in an object store."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping
from typing import IO, Any

from tbq.errors import OutputError
from tbq.lake.location import Entry, Location, in_arrow
from tbq.source.store import MissingObjectError, Store, open_store, without_tls
from tbq.storage import Storage

#: An object up to this size is fetched in one request: a second request would take as long.
_WHOLE = 1 << 22
_END = 1 << 16


class Bucket(Location):
    """A prefix of an object store, through obstore; deltalake reaches it by the same options."""

    readers = 16

    def __init__(self, url: str, storage: Storage | None = None) -> None:
        self._store: Store = open_store(url, storage)
        self.url = self._store.url
        self._storage = dict(self._store.storage)  # including the command's --storage options
        self.options = {"conditional_put": "etag", **_for_deltalake(self._store.storage)}

    def __reduce__(self) -> tuple[object, ...]:
        return Bucket, (self.url, self._storage)

    def read(self, key: str) -> bytes:
        try:
            return self._store.get(key)
        except MissingObjectError as missing:
            raise FileNotFoundError(key) from missing

    def source(self, key: str, size: int) -> Any:
        import pyarrow as pa

        if size <= _WHOLE:
            return in_arrow(self.read(key))
        return pa.PythonFile(_Ranges(self, key, size), mode="r")

    def create(self, key: str, data: bytes) -> bool:
        try:
            self._store.put(key, data, replace=False)
        except OutputError as failure:
            if failure.code != "exists":
                raise
            return False
        return True

    def part(self, key: str, begin: int, end: int) -> bytes:
        """Some bytes of a file."""
        try:
            return self._store.get(key, begin, end)
        except MissingObjectError as missing:
            raise FileNotFoundError(key) from missing

    @contextlib.contextmanager
    def write(self, key: str) -> Iterator[IO[bytes]]:
        data = io.BytesIO()
        yield data
        self._store.put(key, data.getvalue())

    def size(self, key: str) -> int:
        entry = self._store.head(key)
        return 0 if entry is None else entry.size

    def entries(self, folder: str) -> list[Entry]:
        return [
            Entry(entry.key.rpartition("/")[2], entry.modified)
            for page in self._store.list(folder)
            for entry in page
        ]

    def folders(self) -> list[str]:
        return sorted(self._store.folders())

    def delete(self, key: str) -> None:
        self._store.delete(key)


class _Ranges(io.RawIOBase):
    """An object that is fetched range by range. Its end, which has a data file's footer, is fetched at once."""

    def __init__(self, bucket: Bucket, key: str, size: int) -> None:
        self._bucket, self._key, self._size, self._place = bucket, key, size, 0
        self._end = bucket.part(key, max(0, size - _END), size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = 0) -> int:
        self._place = offset + (0, self._place, self._size)[whence]
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        begin, end = self._place, self._size
        if size is not None and size >= 0:
            end = min(end, begin + size)
        self._place = max(begin, end)
        if begin >= end:
            return b""
        known = self._size - len(self._end)
        return (
            self._end[begin - known : end - known]
            if begin >= known
            else self._bucket.part(self._key, begin, end)
        )


def _for_deltalake(storage: Mapping[str, str]) -> dict[str, str]:
    """The options in deltalake's form: it needs `allow_http` to reach a server without TLS."""
    options = dict(storage)
    if without_tls(storage):
        options.setdefault("allow_http", "true")
    return options
