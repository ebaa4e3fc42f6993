"""The state of a run, by one rule for every view: how it ended, its losses, the age of its last event, its siblings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Literal, NamedTuple

from tbq.roles import role

State = Literal["running", "stalled", "finished", "crashed", "diverged"]
STATES: tuple[State, ...] = ("running", "stalled", "finished", "crashed", "diverged")
#: Each state has its own shape, for terminals without colour.
GLYPHS: Mapping[State, str] = {
    "running": "●",
    "stalled": "◐",
    "finished": "○",
    "crashed": "✕",
    "diverged": "≁",
}

# A run is stalled if nothing came for this long, or for this many times its usual pause; later it has ended.
STALLED_AFTER, STALLED_PAUSES = 120.0, 20.0
ENDED_AFTER, ENDED_PAUSES = 3600.0, 200.0
# A run without an end that stopped before this share of its siblings' steps has crashed.
_FAR_BEFORE = 0.5
_SIBLINGS = 2  # at least


class Facts(NamedTuple):
    """What the state of a run depends on."""

    end: str = ""  # what its writer says: "finished", "failed", or nothing
    diverged: bool = False  # the last value of a loss is not a finite number
    age: float = math.inf  # seconds since its last event
    pause: float = 0.0  # seconds from one row to the next, lately; 0 if that is not known
    last_step: int | None = None


def states_of(runs: Mapping[str, Facts], stalled_after: float = STALLED_AFTER) -> dict[str, State]:
    """The state of each run.

    - diverged: the last value of a loss is not a finite number
    - finished, crashed: its writer says so, and nothing was logged after that
    - running, stalled: by the age of its last event
    - without a word of the writer and after an hour: crashed if it stopped far before its siblings, else finished

    >>> ended = Facts("finished", last_step=100)
    >>> states_of({"a": ended, "b": ended, "c": Facts(last_step=20), "d": Facts(age=3.0)})
    {'a': 'finished', 'b': 'finished', 'c': 'crashed', 'd': 'running'}
    """
    states = {run: _alone(facts, stalled_after) for run, facts in runs.items()}
    silent = [run for run, state in states.items() if state == "finished" and not runs[run].end]
    if silent:
        early = _stopped_early(silent, {run: facts.last_step for run, facts in runs.items()})
        states |= dict.fromkeys(early, "crashed")
    return states


def is_diverged(tag: str, last: float) -> bool:
    """Whether the last value of a tag says that its run diverged.

    >>> is_diverged("train/loss", math.nan), is_diverged("grad_norm", math.inf), is_diverged("loss", 0.5)
    (True, False, False)
    """
    return not math.isfinite(last) and role(tag) == "loss"


def _alone(facts: Facts, stalled_after: float) -> State:
    if facts.diverged:
        return "diverged"
    if facts.end:
        return "crashed" if facts.end == "failed" else "finished"
    if facts.age >= max(ENDED_AFTER, 2 * stalled_after, ENDED_PAUSES * facts.pause):
        return "finished"
    if facts.age >= max(stalled_after, STALLED_PAUSES * facts.pause):
        return "stalled"
    return "running"


def _stopped_early(silent: Iterable[str], last_steps: Mapping[str, int | None]) -> list[str]:
    """Those of these runs whose last step is far below that of their siblings."""
    # No median is above the largest step: in most logs that ends it here, and no families are made.
    largest = max((step for step in last_steps.values() if step is not None), default=0)
    low = [run for run in silent if (step := last_steps[run]) is not None and step < _FAR_BEFORE * largest]
    if not low:
        return []
    family = _families(last_steps)
    steps: dict[tuple[int, str], list[int]] = {}
    for run, step in last_steps.items():
        if step is not None:
            steps.setdefault(family[run], []).append(step)
    far_before = {
        of: _FAR_BEFORE * median(reached) for of, reached in steps.items() if len(reached) > _SIBLINGS
    }
    return [run for run in low if (last_steps[run] or 0) < far_before.get(family[run], -math.inf)]


def _families(runs: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Siblings have names of as many parts; `a/train` and `b/train` are siblings, `a/train` and `a/eval` are not."""
    ends: dict[tuple[int, str], int] = {}
    keys = {}
    for run in runs:
        keys[run] = key = run.count("/"), run.rpartition("/")[2]
        ends[key] = ends.get(key, 0) + 1
    return {run: key if ends[key] > 1 else (key[0], "") for run, key in keys.items()}
