"""Which runs there are now: found again if a directory changed, and only then."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Sequence

from tbq._core import WatchedPaths
from tbq.errors import TbqError
from tbq.problems import Problem
from tbq.source.discover import Found, find

# Some file systems (object stores that are mounted) do not say when a directory changed: the search is repeated
# after so many seconds, or after so many times what it takes.
_AT_LEAST_EVERY = 30.0
_PATIENCE = 100


class Discovery:
    """The runs below paths, by the one rule of `tbq.open`; paths that are not there are waited for."""

    def __init__(self, items: Sequence[tuple[str | None, str]]) -> None:
        self._items = list(items)
        self._places = [os.path.expanduser(path) for _, path in self._items]
        self._patterns = [place for place in self._places if glob.has_magic(place)]
        self._directories = WatchedPaths()
        self._matches: list[list[str]] = []
        self._absent: list[str] = []
        self._due = 0.0
        self._searched = False
        self._unfinished = False  # a search was interrupted, after it took note of what had changed
        self.found = Found(self.paths, [])

    @property
    def paths(self) -> list[str]:
        """The paths as they were given, also those that are not there."""
        return [path for _, path in self._items]

    def exists(self) -> bool:
        """Whether one of the paths is there."""
        return any(os.path.lexists(place) or glob.glob(place, recursive=True) for place in self._places)

    def search(self) -> None:
        """Look again if something may have changed; `found` is another object then."""
        started = time.monotonic()
        matches = [sorted(glob.glob(pattern, recursive=True)) for pattern in self._patterns]
        changed = self._unfinished or not self._searched
        self._unfinished = True
        changed = self._directories.changed() or changed
        changed = changed or matches != self._matches or started >= self._due or self._appeared()
        if not changed:
            self._unfinished = False
            return
        self._matches = matches
        watched: list[str] = []
        try:
            self.found = find(self._items, watched)
        except TbqError as wrong:
            if not self._searched:
                raise
            # Two runs of one name, which was not so when this began: those that were known are followed on.
            problem = Problem("discovery", "error", wrong.message, path=wrong.path, hint=wrong.hint)
            self.found = Found(self.found.paths, self.found.runs, [problem])
        self._searched = True
        self._absent = [place for place in self._places if not os.path.lexists(place)]
        self._directories.set([os.fsencode(folder) for folder in watched])
        ended = time.monotonic()
        self._due = ended + max(_AT_LEAST_EVERY, _PATIENCE * (ended - started))
        self._unfinished = False

    def _appeared(self) -> bool:
        """Whether a path is there that was not."""
        return any(map(os.path.lexists, self._absent))
