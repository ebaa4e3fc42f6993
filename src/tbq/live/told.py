"""Problems that are told once each, however often they are found."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tbq.problems import Problem
from tbq.source.origin import origin

# Of a log that is being written these are no news: what is unfinished is waited for, and what a restart overtook is
# retracted.
_STATES = ("truncated", "empty")


class Told:
    """Knows which problems have been told; `problems` has all of them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._keys: set[tuple[object, ...]] = set()

    def new(self, problems: Iterable[Problem]) -> list[Problem]:
        """Those that have not been told yet."""
        found = []
        for problem in problems:
            if problem.code == "restart" or (problem.code in _STATES and problem.severity == "info"):
                continue
            key = _key(problem)
            if key not in self._keys:
                self._keys.add(key)
                found.append(problem)
        self.problems += found
        return found

    def forget(self, paths: Iterable[bytes]) -> None:
        """These files are others now: their problems are new if they have any."""
        names = {origin(os.fsdecode(path)) for path in paths}
        if names:
            self._keys = {key for key in self._keys if key[0] not in names}


def _key(problem: Problem) -> tuple[object, ...]:
    """What a problem is about: its message may change while the file grows."""
    if problem.path is None:
        return None, problem.code, problem.run, problem.tag
    if problem.offset is None:
        return problem.path, problem.code
    return problem.path, problem.offset
