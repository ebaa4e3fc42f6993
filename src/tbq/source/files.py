"""Prepares the files of runs for the core: fetches remote files, and tells which bytes of each file to read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from tbq.source.discover import WHOLE, Run
from tbq.source.origin import ordering_name

if TYPE_CHECKING:
    from tbq.progress import Call
    from tbq.source.formats.translation import Translations
    from tbq.source.remote import Remote

#: Bytes of runs that are decoded together: enough for all cores, but little to hold in memory.
GROUP_BYTES = 64 * 1024 * 1024
#: The same for callers that keep little of what they read.
HELD_BYTES = 32 * 1024 * 1024


def ranges_of(runs: Iterable[Run]) -> list[tuple[int, int]] | None:
    """The range of bytes to read of each file; None if all files are read whole."""
    listed = list(runs)
    if all(run.ranges is None for run in listed):
        return None
    return [each for run in listed for each in run.ranges or [WHOLE] * len(run.files)]


def below_of(runs: Iterable[Run]) -> list[bool] | None:
    """Which files lie in sub-runs; None if none does."""
    listed = list(runs)
    if not any(run.below for run in listed):
        return None
    return [path in run.below for run in listed for path in run.files]


def metadata_of(runs: Iterable[Run]) -> list[dict[bytes, bytes] | None] | None:
    """The metadata of tags that was read earlier, by run; None if no run has any."""
    listed = [run.metadata for run in runs]
    return listed if any(listed) else None


def bytes_of(run: Run) -> int:
    """The total bytes of a run's files. Missing files count as 0."""
    return sum(
        run.remote.size(path) if run.remote is not None and run.remote.has(path) else _size(path)
        for path in run.files
    )


def groups(
    runs: Iterable[Run], first: int, limit: int, size_of: Callable[[Run], int] = bytes_of
) -> Iterator[list[Run]]:
    """Split runs, in order, into groups of up to `first` bytes, then of more and more bytes up to `limit`. A run that
    is larger than that is a group of its own."""
    group: list[Run] = []
    size = 0
    for run in runs:
        of_run = size_of(run)
        if group and size + of_run > first:
            yield group
            group, size = [], 0
            first = min(4 * first, limit)
        group.append(run)
        size += of_run
    if group:
        yield group


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def fetch(runs: Iterable[Run], progress: Call | None = None, most: int | None = None) -> int:
    """Fetch about `most` bytes of the remote files of these runs, and translate logs of other trackers; returns how
    many bytes are left."""
    wanted: dict[int, tuple[Remote | Translations, list[str]]] = {}
    for run in runs:
        if run.remote is not None:
            wanted.setdefault(id(run.remote), (run.remote, []))[1].extend(filter(run.remote.has, run.files))
    return sum(remote.fetch(urls, progress, most) for remote, urls in wanted.values())


def present(runs: Iterable[Run]) -> None:
    """Fetch the files of runs again if they were deleted to make room. Files of followed logs are never deleted."""
    fetch(run for run in runs if run.remote is not None and not run.remote.live)


def files_of(runs: Iterable[Run]) -> tuple[list[bytes], list[int], list[bytes] | None]:
    """For the core: the paths, the index of each path's run, and the names that order copies of remote objects."""
    paths: list[bytes] = []
    indices: list[int] = []
    names: list[bytes] = []
    any_copy = False
    encoding, errors = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    for index, run in enumerate(runs):
        for path in run.files:
            if run.remote is not None and run.remote.has(path):
                path = run.remote.path(path)
            name = ordering_name(path)
            any_copy = any_copy or name is not path
            paths.append(path.encode(encoding, errors))
            names.append(name.encode(encoding, errors))
            indices.append(index)
    return paths, indices, names if any_copy else None
