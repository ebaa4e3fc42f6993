"""Finds the runs of a followed log directory, and searches again only if a directory changed."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tbq._core import WatchedPaths
from tbq.errors import TbqError
from tbq.problems import Problem
from tbq.source.discover import Found, Logs, find, places_of, refuse_remote_lakes

if TYPE_CHECKING:
    from tbq.decode.sub_runs import SubRunFolder
    from tbq.source.remote import Remote
    from tbq.source.store import Object

# Some file systems (mounted object stores) do not update the times of directories. So the search is repeated after
# this many seconds, or after this many times its own duration if that is longer.
_AT_LEAST_EVERY = 30.0
_PATIENCE = 100


class Discovery:
    """The runs below the paths, by the same rule as `tbq.open`. A path need not exist yet."""

    def __init__(
        self,
        items: Sequence[tuple[str | None, str]],
        remote: Remote | None = None,
        sub_runs: SubRunFolder | None = None,
        logs: Logs | None = None,
    ) -> None:
        self._items = list(items)
        self._sub_runs = sub_runs  # None if they are runs of their own
        self._small = WatchedPaths()  # the files that sub-runs depend on
        self._remote = remote
        self._logs = logs if logs is not None else Logs(remote)
        self._versions: dict[str, Object] = {}
        self._places = [place for _, path in self._items for place in places_of(path)]
        self._patterns = [place for place in self._places if glob.has_magic(place)]
        self._directories = WatchedPaths()
        self._matches: list[list[str]] = []
        self._absent: list[str] = []
        self._due = 0.0
        self._searched = False
        self._unfinished = False  # a search was interrupted after it read which directories had changed
        self.found = self._listed = Found(self.paths, [])

    @property
    def paths(self) -> list[str]:
        """The paths as the caller wrote them, whether they exist or not."""
        return [path for _, path in self._items]

    def exists(self) -> bool:
        """Whether one of the paths exists."""
        if self._remote is not None and self._remote.objects:
            return True
        return any(os.path.exists(place) or glob.glob(place, recursive=True) for place in self._places)

    def search(self) -> None:
        """Search again if something may have changed; then `found` is a new object."""
        started = time.monotonic()
        matches = [sorted(glob.glob(pattern, recursive=True)) for pattern in self._patterns]
        changed = self._unfinished or not self._searched
        self._unfinished = True
        changed = self._directories.changed() or changed
        changed = changed or matches != self._matches or started >= self._due or self._appeared()
        changed = changed or not all(copy.is_settled() for copy in self.found.copies)
        if not changed and self._remote is None:
            if self._small.changed() or self._unread:
                self._fold()
            self._unfinished = False
            return
        before = self._listed
        if self._remote is not None:
            self._remote.forget()
        self._matches = matches
        watched: list[str] = []
        try:
            self._listed = find(self._items, watched, self._remote, self._logs)
            refuse_remote_lakes(self._listed, "new data is read from event files")
        except TbqError as wrong:
            if not self._searched:
                raise
            # Two runs have the same name since this search: keep following the runs known before.
            problem = Problem("discovery", "error", wrong.message, path=wrong.path, hint=wrong.hint)
            self._listed = self._listed._replace(problems=[problem])
            if self._remote is not None:
                self._remote.objects.update(self._versions)
        if self._remote is not None:
            versions = dict(self._remote.objects)
            if not changed and versions == self._versions and self._listed.problems == before.problems:
                self._listed = before
            self._versions = versions
        if self._listed is not before or self._unread or self._small.changed():
            self._fold()
        self._searched = True
        self._absent = [place for place in self._places if not os.path.exists(place)]
        self._directories.set([os.fsencode(folder) for folder in watched])
        ended = time.monotonic()
        self._due = ended + max(_AT_LEAST_EVERY, _PATIENCE * (ended - started))
        self._unfinished = False

    @property
    def _unread(self) -> bool:
        """Whether it is unknown what a small run is, because it could not be read."""
        return self._sub_runs is not None and bool(self._sub_runs.unread)

    def _fold(self) -> None:
        """Make sub-runs part of the runs above them; `found` stays the same object if that changes nothing."""
        found = self._listed
        if self._sub_runs is not None:
            found = self._sub_runs.fold(found, hold_back=True)
            self._small.set([os.fsencode(path) for path in self._sub_runs.paths])
        if found != self.found or found.remote is not None:
            self.found = found

    def _appeared(self) -> bool:
        """Whether a path exists that did not."""
        return any(map(os.path.exists, self._absent))
