"""Problems that are told once each, however often they are found."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tbq.problems import Problem
from tbq.source.origin import origin

# Of a log that is being written these are no news: what is unfinished is waited for, and what a restart overtook is
# retracted.
_STATES = ("truncated", "empty")


class Told:
    """Knows which problems have been told; `problems` has all of them. Does not change."""

    def __init__(
        self,
        problems: Sequence[Problem] = (),
        keys: frozenset[tuple[object, ...]] = frozenset(),
        passing: frozenset[tuple[object, ...]] = frozenset(),
    ) -> None:
        self.problems = problems
        self._keys = keys
        self._passing = passing

    def after(
        self, replaced: Iterable[bytes], problems: Iterable[Problem], passing: Sequence[Problem] = ()
    ) -> tuple[Told, list[Problem]]:
        """What is known once these are told, and those that are new.

        `replaced`: paths of files that were replaced since the last look; their problems are new. `passing`: problems
        of this look alone, such as a store that fails; if one ends and comes again, it is new.
        """
        names = {origin(os.fsdecode(path)) for path in replaced}
        now = frozenset(map(_key, passing))
        keys = set(self._keys - (self._passing - now))
        if names:
            keys = {key for key in keys if key[0] not in names or key in now & self._passing}
        new = []
        for problem in [*passing, *problems]:
            if problem.code == "restart" or (problem.code in _STATES and problem.severity == "info"):
                continue
            key = _key(problem)
            if key not in keys:
                keys.add(key)
                new.append(problem)
        if not new and keys == self._keys and now == self._passing:
            return self, []
        return Told([*self.problems, *new], frozenset(keys), now), new


def _key(problem: Problem) -> tuple[object, ...]:
    """What a problem is about: its message may change while the file grows."""
    if problem.path is None:
        return None, problem.code, problem.run, problem.tag
    if problem.offset is None:
        return problem.path, problem.code
    return problem.path, problem.offset
