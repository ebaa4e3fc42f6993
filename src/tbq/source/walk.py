"""Walks the directories below a path, each once, and lists their event files."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator

from tbq.problems import Problem
from tbq.source.formats.recognise import may_be_log

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


def may_be_read(name: str) -> bool:
    """Whether a file of this name is an event file, or may be a log of another tracker."""
    return is_event_file(name) or may_be_log(name)


class Seen:
    """The directories that were walked, by identity rather than by path.

    They are identified only if a directory can be reached twice: through `several` paths, or through a link.
    """

    def __init__(self, several: bool = False) -> None:
        self.several = several
        self._known: set[tuple[int, int] | str] = set()
        self._later: list[str] = []

    def add(self, folder: str) -> None:
        """Note a directory that cannot have been walked before."""
        self._later.append(folder)

    def is_new(self, folder: str) -> bool:
        """Note a directory; returns False if it was walked before."""
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


class Bounds:
    """What a search lists: directories that may lead to names with this beginning, and at most so many of them."""

    def __init__(self, beginning: str, most: int) -> None:
        self.beginning = beginning
        self.left = most
        #: Whether there are more.
        self.passed = False

    def lead_to(self, name: str) -> bool:
        return name.startswith(self.beginning) or self.beginning.startswith(f"{name}/")

    def take(self) -> bool:
        """Count a directory; returns False if there were too many before."""
        self.left -= 1
        self.passed = self.left < 0
        return not self.passed


# A link to a directory: the depth of its name, its name below the top, its path, and the real paths of the directories
# from which links were followed to reach it.
_Link = tuple[int, str, str, tuple[str, ...]]


def walk(
    top: str,
    problems: list[Problem],
    seen: Seen,
    logs: dict[str, list[str]],
    bounds: Bounds | None = None,
) -> Iterator[tuple[str, str, list[str], int]]:
    """Each directory from `top` down: its path, its name below `top`, its event files, and the number of other files.

    `logs` receives the files of each directory that may be logs of other trackers.

    First come the directories that are reachable without a link; then links, fewest path parts first, then by name.
    A link to a directory that contains it is not followed.
    """
    links: list[_Link] = []
    yield from _tree(top.rstrip(os.sep) or top, "", (), links, problems, seen, logs, seen.several, bounds)
    while links:
        _, below, path, followed = heapq.heappop(links)
        target, here = os.path.realpath(path), os.path.realpath(os.path.dirname(path))
        if not any(_inside(place, target) for place in (here, *followed)):
            yield from _tree(path, below, (*followed, here), links, problems, seen, logs, True, bounds)


def _tree(
    top: str,
    name: str,
    followed: tuple[str, ...],
    links: list[_Link],
    problems: list[Problem],
    seen: Seen,
    logs: dict[str, list[str]],
    check: bool,
    bounds: Bounds | None,
) -> Iterator[tuple[str, str, list[str], int]]:
    """The directories from `top` down, without following links. For thousands of runs, this is much of `tbq ls`."""
    stack = [(top, name)]
    while stack:
        folder, below = stack.pop()
        if bounds is not None and not bounds.take():
            return
        if not check:
            seen.add(folder)
        elif not seen.is_new(folder):
            continue
        event_files: list[str] = []
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
                        if bounds is not None and not bounds.lead_to(inner):
                            continue
                        if _is_link(entry):
                            heapq.heappush(links, (inner.count("/"), inner, entry.path, followed))
                        else:
                            stack.append((entry.path, inner))
                    elif is_event_file(name) and not _leads_beside(entry, folder):
                        event_files.append(entry.path)
                    else:
                        others += 1
                        if may_be_log(name):
                            logs.setdefault(folder, []).append(entry.path)
        except OSError as failure:
            reason = (failure.strerror or str(failure)).lower()
            problems.append(Problem("unreadable", "error", f"cannot be listed: {reason}", path=folder))
        yield folder, below, event_files, others


def _is_link(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink():
        return True
    if os.name != "nt":
        return False
    return getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0) == _MOUNT_POINT


def _leads_beside(entry: os.DirEntry[str], folder: str) -> bool:
    """Whether this is a link (such as `latest`) to an event file of its own directory, which is read anyway."""
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
