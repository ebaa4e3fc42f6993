"""Where a lake lies: a local folder, or a prefix of an object store."""

from __future__ import annotations

import contextlib
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from tbq.errors import OutputError, SourceError, UsageError
from tbq.export.target import output
from tbq.storage import Storage

if TYPE_CHECKING:
    import pyarrow as pa

# What a URL changes: escapes, which are decoded; control characters, which are dropped; lone surrogates.
_MEANT_OTHERWISE = re.compile(r"%[0-9A-Fa-f]{2}|[\x00-\x1f\x7f\ud800-\udfff]")
_WAIT = 0.05  # seconds between two attempts to take the lock
_AGAIN = "the lake is as it was; run tbq sync again once there is room and permission"


class Entry(NamedTuple):
    """A file of a lake: its name in its folder, and the time of its last change."""

    name: str
    modified: float


class Location(ABC):
    """The storage operations that a lake needs. Keys are relative to `url`, with `/` between their parts."""

    #: the address of the lake, in deltalake's form
    url: str
    #: the options of the object store, in deltalake's form
    options: dict[str, str]
    #: how many files to read at a time
    readers = 1

    def table(self, name: str) -> str:
        """The address of a table."""
        return f"{self.url}/{name}"

    @abstractmethod
    def read(self, key: str) -> bytes:
        """The bytes of a file; raises FileNotFoundError if it does not exist."""

    @abstractmethod
    def source(self, key: str, size: int) -> Any:
        """A file of `size` bytes for pyarrow to read; raises FileNotFoundError if it does not exist."""

    @abstractmethod
    def create(self, key: str, data: bytes) -> bool:
        """Create a file, completely or not at all; returns False if it already exists."""

    @abstractmethod
    def write(self, key: str) -> contextlib.AbstractContextManager[IO[bytes]]:
        """A new file to write to; it gets its name once all of it is written."""

    @abstractmethod
    def size(self, key: str) -> int:
        """The size of a file."""

    @abstractmethod
    def entries(self, folder: str) -> list[Entry]:
        """The files of a folder; empty if it does not exist."""

    @abstractmethod
    def folders(self) -> list[str]:
        """The names of the folders and files at the top of the lake; empty if the lake does not exist."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete a file, if it exists."""

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """While the block runs, other syncs on this machine wait. Commits are safe without it; it saves work."""
        yield


class Local(Location):
    """A folder on this machine."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.url = os.path.abspath(os.path.expanduser(folder))
        self.options = {}

    @cached_property
    def folder(self) -> Path:
        """The folder."""
        return Path(self.url)

    def read(self, key: str) -> bytes:
        try:
            with open(self._path(key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise
        except OSError as failure:
            raise SourceError(
                f"cannot be read: {_reason(failure)}", path=self.folder / key, code="lake"
            ) from failure

    def source(self, key: str, size: int) -> Any:  # noqa: ARG002
        import pyarrow as pa

        return pa.OSFile(self._path(key))

    def create(self, key: str, data: bytes) -> bool:
        try:
            with self.write(key) as file:
                file.write(data)
        except OutputError as failure:
            if failure.code != "exists":
                raise
            return False
        return True

    @contextlib.contextmanager
    def write(self, key: str) -> Iterator[IO[bytes]]:
        try:
            with output(self._path(key), sync=True) as file:
                yield file
        except OutputError as failure:
            failure.hint = _AGAIN
            raise

    def size(self, key: str) -> int:
        return (self.folder / key).stat().st_size

    def entries(self, folder: str) -> list[Entry]:
        try:
            with os.scandir(self.folder / folder) as entries:
                return [Entry(entry.name, entry.stat().st_mtime) for entry in entries if entry.is_file()]
        except FileNotFoundError:
            return []

    def folders(self) -> list[str]:
        try:
            return sorted(os.listdir(self.url))
        except FileNotFoundError:
            return []
        except OSError as failure:
            raise SourceError(
                f"cannot be listed: {_reason(failure)}", path=self.url, code="lake"
            ) from failure

    def delete(self, key: str) -> None:
        with contextlib.suppress(OSError):
            (self.folder / key).unlink()

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        from tbq.scratch import take_lock

        path = self.folder / "_tbq" / "lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as failure:
            what = f"cannot be written: {_reason(failure)}"
            raise OutputError(what, path=path, hint=_AGAIN, code="lake") from failure
        try:
            while take_lock(descriptor) == "taken":
                time.sleep(_WAIT)
            yield
        finally:
            os.close(descriptor)

    def _path(self, key: str) -> str:
        return f"{self.url}/{key}"


def in_arrow(data: bytes) -> pa.BufferReader:
    """Copy bytes into Arrow's own memory, for pyarrow to read.

    An Arrow thread may release a buffer after the call that read it has returned. Releasing Python's memory takes the
    GIL, which aborts the process while the interpreter shuts down (apache/arrow#34314).
    """
    import pyarrow as pa

    memory = pa.allocate_buffer(len(data))
    memoryview(memory).cast("B")[:] = data
    return pa.BufferReader(memory)


def location_of(lake: str | os.PathLike[str], storage: Storage | None = None) -> Location:
    """The place that a path or a URL names."""
    from tbq.source.urls import is_remote, local_path

    text = os.fspath(lake)
    if is_remote(text):
        if not can_be_lake(text):
            raise _unreachable(text, "?, #, control characters, %XX and parts that are empty, . or ..")
        from tbq.lake.bucket import Bucket

        return Bucket(text, storage)
    place = Local(local_path(text) if text.lower().startswith("file:") else text)
    if not can_be_lake(place.url):
        raise _unreachable(place.url, "backslashes, control characters, %XX and bytes that are not UTF-8")
    return place


def can_be_lake(path: str) -> bool:
    """Whether deltalake opens exactly this path: it turns the path into a URL, which changes some characters.

    >>> can_be_lake("s3://bucket/my runs"), can_be_lake("s3://bucket/my%20runs")
    (True, False)
    """
    from tbq.source.urls import is_remote
    from tbq.source.urls import place_of as url_of

    name = path
    if is_remote(path):
        name = url_of(path).key
        if "?" in name or "#" in name or (name and not {"", ".", ".."}.isdisjoint(name.split("/"))):
            return False
    elif os.name != "nt" and "\\" in path:
        return False
    return not _MEANT_OTHERWISE.search(name)


def _unreachable(path: str, without: str) -> UsageError:
    return UsageError(
        "cannot be a lake: deltalake would open another path",
        path=path,
        hint=f"name a folder without {without}",
    )


def _reason(failure: OSError) -> str:
    return (failure.strerror or str(failure)).lower()
