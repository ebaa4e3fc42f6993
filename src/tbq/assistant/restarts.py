"""Which runs were resumed, and the rows that this cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tbq.decode.problems import problems_of

if TYPE_CHECKING:
    from tbq.problems import Problem
    from tbq.server.live_log import LiveLog

_KEPT = 50  # answers


def resumed(log: LiveLog, runs: Sequence[str]) -> list[str]:
    """Those of these runs in which a later session took a scalar over."""
    with log.lock:
        return [run for run in runs if run in log.index.of_run and log.index.of_run[run].takeovers]


def dropped(log: LiveLog, runs: Sequence[str]) -> list[Problem]:
    """What restarts dropped in each of these runs, from the live store."""

    def ask() -> list[Problem]:
        with log.follower.store.lock:
            result, known = log.follower.store.of_runs("scalars", runs)
        return [each for each in problems_of(result, known, log.restarts) if each.code == "restart"]

    return log.cache.of("dropped", log.version_of(runs), ask, limit=_KEPT)
