"""A lake in an object store."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from typing import IO

from tbq.errors import OutputError
from tbq.lake.place import Entry, Place
from tbq.source.store import MissingObjectError, Store, open_store
from tbq.storage import Storage


class Bucket(Place):
    """A prefix of an object store, through obstore; deltalake reaches it by the same options."""

    def __init__(self, url: str, storage: Storage | None = None) -> None:
        self._store: Store = open_store(url, storage)
        self.url = self._store.url
        self._storage = dict(self._store.storage)  # with what the command was given
        self.options = {"conditional_put": "etag", **_for_deltalake(self._store.storage)}

    def __reduce__(self) -> tuple[object, ...]:
        return Bucket, (self.url, self._storage)

    def read(self, key: str) -> bytes:
        try:
            return self._store.get(key)
        except MissingObjectError as missing:
            raise FileNotFoundError(key) from missing

    def create(self, key: str, data: bytes) -> bool:
        try:
            self._store.put(key, data, replace=False)
        except OutputError as failure:
            if failure.code != "exists":
                raise
            return False
        return True

    @contextlib.contextmanager
    def write(self, key: str) -> Iterator[IO[bytes]]:
        data = io.BytesIO()
        yield data
        self._store.put(key, data.getvalue())

    def size(self, key: str) -> int:
        found = self._store.head(key)
        return 0 if found is None else found.size

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


def _for_deltalake(storage: Mapping[str, str]) -> dict[str, str]:
    """The options as deltalake takes them: it wants to be told that a server may be reached without TLS."""
    options = dict(storage)
    endpoints = [*storage.values(), *(value for name, value in os.environ.items() if "ENDPOINT" in name)]
    if any(value.startswith("http://") for value in endpoints):
        options.setdefault("allow_http", "true")
    return options
