"""`ReportedProblems`: reports each problem once, however often polls find it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tbq.problems import Problem
from tbq.source.origin import origin

# Not reported while a log is being written: the rest of an unfinished file will come, and updates retract the rows that
# a restart replaced.
_EXPECTED = ("truncated", "empty")


class ReportedProblems:
    """The problems that updates have reported. Immutable: `after` returns the next state."""

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
    ) -> tuple[ReportedProblems, list[Problem]]:
        """The state after a poll that found these problems, and the problems to report now.

        `replaced`: paths of files that were replaced since the last poll; their problems are new. `passing`: problems
        of this poll only, such as a store that fails; if one ends and comes back, it is new.
        """
        names = {origin(os.fsdecode(path)) for path in replaced}
        now = frozenset(map(_key, passing))
        keys = set(self._keys - (self._passing - now))
        if names:
            keys = {key for key in keys if key[0] not in names or key in now & self._passing}
        new = []
        for problem in [*passing, *problems]:
            if problem.code == "restart" or (problem.code in _EXPECTED and problem.severity == "info"):
                continue
            key = _key(problem)
            if key not in keys:
                keys.add(key)
                new.append(problem)
        if not new and keys == self._keys and now == self._passing:
            return self, []
        return ReportedProblems([*self.problems, *new], frozenset(keys), now), new


def _key(problem: Problem) -> tuple[object, ...]:
    """Identifies a problem; its message may change while the file grows."""
    if problem.path is None:
        return None, problem.code, problem.run, problem.tag
    if problem.offset is None:
        return problem.path, problem.code
    return problem.path, problem.offset
