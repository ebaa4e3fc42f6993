"""The files of runs as the core takes them: which bytes of each, how many; those of URLs fetched first."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from tbq.source.discover import WHOLE, Run
from tbq.source.origin import ordering_name
from tbq.source.urls import is_remote

if TYPE_CHECKING:
    from tbq.progress import Call
    from tbq.source.remote import Remote

#: Runs that are decoded together have so many bytes: enough for all cores, but little to hold.
GROUP_BYTES = 64 * 1024 * 1024
#: The same for those who keep little of what they read.
HELD_BYTES = 32 * 1024 * 1024


def ranges_of(runs: Iterable[Run]) -> list[tuple[int, int]] | None:
    """The bytes of each file that are read; None if all are."""
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
    """What is known of the tags of each run from elsewhere; None if that is nothing."""
    listed = [run.metadata for run in runs]
    return listed if any(listed) else None


def bytes_of(run: Run) -> int:
    """How many bytes the files of a run have; those that are not there have none."""
    return sum(
        run.remote.size(path) if run.remote is not None and is_remote(path) else _size(path)
        for path in run.files
    )


def groups(
    runs: Iterable[Run], first: int, limit: int, size_of: Callable[[Run], int] = bytes_of
) -> Iterator[list[Run]]:
    """Runs that follow each other, until their files have so many bytes: `first`, then more up to `limit`. A larger
    run is alone."""
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
    """Have files of what is remote in these runs; returns how many bytes are left after about `most`."""
    wanted: dict[int, tuple[Remote, list[str]]] = {}
    for run in runs:
        if run.remote is not None:
            wanted.setdefault(id(run.remote), (run.remote, []))[1].extend(filter(is_remote, run.files))
    return sum(remote.fetch(urls, progress, most) for remote, urls in wanted.values())


def present(runs: Iterable[Run]) -> None:
    """Have the files again of runs that were read, if they had to make room for others; followed ones stay."""
    fetch(run for run in runs if run.remote is not None and not run.remote.live)


def files_of(runs: Iterable[Run]) -> tuple[list[bytes], list[int], list[bytes] | None]:
    """The paths as the core takes them, for each the index of its run, and the names that order copies of objects."""
    paths: list[bytes] = []
    indices: list[int] = []
    names: list[bytes] = []
    any_copy = False
    encoding, errors = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    for index, run in enumerate(runs):
        for path in run.files:
            if run.remote is not None and is_remote(path):
                path = run.remote.path(path)
            name = ordering_name(path)
            any_copy = any_copy or name is not path
            paths.append(path.encode(encoding, errors))
            names.append(name.encode(encoding, errors))
            indices.append(index)
    return paths, indices, names if any_copy else None
