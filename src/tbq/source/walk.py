"""The directories below a path, each of them once, and the event files in them."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator

from tbq.problems import Problem

_NOT_EVENTS = (".profile-empty", ".sagemaker-uploaded")
_MOUNT_POINT = 0xA0000003  # the reparse tag of Windows' junctions


def is_event_file(name: str) -> bool:
    """Whether a file of this name is an event file.

    >>> is_event_file("events.out.tfevents.1700000000.host.1.0.v2")
    True
    >>> is_event_file("events.out.tfevents.1700000000.host.profile-empty")
    False
    """
    return "tfevents" in name and not name.endswith(_NOT_EVENTS)


class Seen:
    """The directories that were walked, by what they are and not by what they are called.

    They are looked up only if something can lead to one twice: `several` paths, or a link.
    """

    def __init__(self, several: bool = False) -> None:
        self.several = several
        self._known: set[tuple[int, int] | str] = set()
        self._later: list[str] = []

    def add(self, folder: str) -> None:
        """Note a directory that cannot have been walked before."""
        self._later.append(folder)

    def is_new(self, folder: str) -> bool:
        """Note a directory; false if it was walked before."""
        if self._later:
            self._known.update(map(_identity, self._later))
            self._later.clear()
        identity = _identity(folder)
        if identity in self._known:
            return False
        self._known.add(identity)
        return True


def _identity(folder: str) -> tuple[int, int] | str:
    try:
        status = os.stat(folder)
    except OSError:
        return os.path.realpath(folder)
    return (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(folder)


# A link to a directory: how deep its name is, its name below the top, its path, and the real paths of the directories
# that links were followed from to get there.
_Link = tuple[int, str, str, tuple[str, ...]]


def walk(top: str, problems: list[Problem], seen: Seen) -> Iterator[tuple[str, str, list[str], int]]:
    """Each directory from `top` down: its path, its name below `top`, its event files, and how many others it has.

    First all that can be reached without a link; then links, those with the shortest and first names first, but never
    to a directory that they lie in.
    """
    links: list[_Link] = []
    yield from _tree(top.rstrip(os.sep) or top, "", (), links, problems, seen, check=seen.several)
    while links:
        _, below, path, behind = heapq.heappop(links)
        target, here = os.path.realpath(path), os.path.realpath(os.path.dirname(path))
        if not any(_inside(place, target) for place in (here, *behind)):
            yield from _tree(path, below, (*behind, here), links, problems, seen, check=True)


def _tree(
    top: str,
    name: str,
    behind: tuple[str, ...],
    links: list[_Link],
    problems: list[Problem],
    seen: Seen,
    check: bool,
) -> Iterator[tuple[str, str, list[str], int]]:
    """The directories from `top` down that no link leads to. With thousands of runs this is a good part of `tbq ls`."""
    stack = [(top, name)]
    while stack:
        folder, below = stack.pop()
        if not check:
            seen.add(folder)
        elif not seen.is_new(folder):
            continue
        mine: list[str] = []
        others = 0
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    try:
                        inside = entry.is_dir()
                    except OSError:
                        inside = False
                    if inside:
                        inner = f"{below}/{name}" if below else name
                        if _is_link(entry):
                            heapq.heappush(links, (inner.count("/"), inner, entry.path, behind))
                        else:
                            stack.append((entry.path, inner))
                    elif is_event_file(name) and not _leads_beside(entry, folder):
                        mine.append(entry.path)
                    else:
                        others += 1
        except OSError as failure:
            reason = (failure.strerror or str(failure)).lower()
            problems.append(Problem("unreadable", "error", f"cannot be listed: {reason}", path=folder))
        yield folder, below, mine, others


def _is_link(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink():
        return True
    if os.name != "nt":
        return False
    return getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0) == _MOUNT_POINT


def _leads_beside(entry: os.DirEntry[str], folder: str) -> bool:
    """Whether this is a link to another event file of its own directory, which is read there (`latest`)."""
    if not entry.is_symlink():
        return False
    target = os.path.realpath(entry.path)
    return (
        os.path.dirname(target) == os.path.realpath(folder)
        and os.path.isfile(target)
        and is_event_file(os.path.basename(target))
    )


def _inside(place: str, target: str) -> bool:
    return place == target or place.startswith(target.rstrip(os.sep) + os.sep)
