"""Reads the event files of one directory one after the other, in the order of their names."""

from __future__ import annotations

import bisect
import functools
import logging
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tbq.compat.log import logger

if TYPE_CHECKING:
    from tbq._core import Accumulator

_THEIRS = "tensorboard.backend.event_processing.directory_watcher"


class DirectoryDeletedError(Exception):
    """The directory was deleted permanently."""


@functools.cache
def _deleted_error(theirs: type[Exception] | None) -> type[Exception]:
    if theirs is None or issubclass(DirectoryDeletedError, theirs):
        return DirectoryDeletedError
    return type("DirectoryDeletedError", (DirectoryDeletedError, theirs), {})


def deleted(directory: str) -> Exception:
    """The error for a deleted directory; also an instance of TensorBoard's, if that is imported to be caught."""
    theirs = getattr(sys.modules.get(_THEIRS), "DirectoryDeletedError", None)
    return _deleted_error(theirs)(f"Directory {directory} has been permanently deleted")


class DirectoryWatcher:
    """Loads from the paths of a directory; only the last path is expected to grow.

    `loader_factory` takes a path and returns an object whose `Load` method returns new events.
    """

    _OOO_WRITE_CHECK_COUNT = 20  # earlier files to check

    def __init__(
        self,
        directory: str,
        loader_factory: Callable[[str], Any],
        path_filter: Callable[[str], bool] = lambda _path: True,
    ) -> None:
        if directory is None:
            raise ValueError("A directory is required")
        if loader_factory is None:
            raise ValueError("A loader factory is required")
        self._directory = directory
        self._path: str | None = None
        self._loader_factory = loader_factory
        self._loader: Any = None
        self._path_filter = path_filter
        self._ooo_writes_detected = False
        self._finalized_sizes: dict[str, int] = {}  # sizes of fully read files

    def Load(self) -> Iterator[Any]:
        """The events that were not returned yet, of all files; `DirectoryDeletedError` if the directory is gone."""
        for loader in self._Loaders():
            yield from loader.Load()

    def _Feed(self, core: Accumulator, most: int, purge: bool) -> int:
        """Feed at most `most` events to the core; returns how many came."""
        count = 0
        for loader in self._Loaders():
            count += loader._Feed(core, most - count, purge)
            if count >= most:
                break
        return count

    def OutOfOrderWritesDetected(self) -> bool:
        """Whether a file was written to after a file with a later name had been started."""
        return self._ooo_writes_detected

    def _Loaders(self) -> Iterator[Any]:
        """The loader of each file from the current one on. Yields each before and after looking for the next file."""
        try:
            if self._loader is None:
                self._Advance()
            while self._loader is not None:
                yield self._loader
                next_path = self._NextPath()
                if next_path is None:
                    logger.info("No path found after %s", self._path)
                    return
                yield self._loader  # events written before the next file was started
                logger.info("Directory watcher advancing from %s to %s", self._path, next_path)
                self._Advance()
        except OSError as failure:
            if not os.path.exists(self._directory):
                raise deleted(self._directory) from failure
            # TensorBoard logs nothing here; a path that is not a directory has no event files.
            level = logging.DEBUG if isinstance(failure, NotADirectoryError) else logging.ERROR
            logger.log(level, "Unable to read %s: %s", self._directory, failure)

    def _Advance(self) -> None:
        """Continue with the next file that can be opened; skips a file that was deleted meanwhile."""
        while (path := self._NextPath()) is not None:
            if self._path is not None:
                try:
                    self._finalized_sizes[self._path] = os.stat(self._path).st_size
                except OSError as failure:
                    logger.error("Unable to get size of %s: %s", self._path, failure)
            self._path = path
            try:
                self._loader = self._loader_factory(path)
            except OSError as failure:
                logger.error("Unable to open %s: %s", path, failure)
                continue
            return

    def _NextPath(self) -> str | None:
        paths = sorted(
            path
            for path in (os.path.join(self._directory, name) for name in os.listdir(self._directory))
            if self._path_filter(path)
        )
        if self._path is None:
            return paths[0] if paths else None
        current = bisect.bisect_left(paths, self._path)
        if not self._ooo_writes_detected:
            earlier = paths[max(0, current - self._OOO_WRITE_CHECK_COUNT) : current]
            self._ooo_writes_detected = any(map(self._HasOOOWrite, earlier))
        after = bisect.bisect_right(paths, self._path)
        return paths[after] if after < len(paths) else None

    def _HasOOOWrite(self, path: str) -> bool:
        try:
            size = os.stat(path).st_size
        except OSError:
            return False
        known = self._finalized_sizes.get(path)
        if size == known:
            return False
        if known is None:
            text = "File %s created after file %s even though it's lexicographically earlier"
        else:
            text = "File %s updated even though the current file is %s"
        logger.error(text, path, self._path)
        return True
