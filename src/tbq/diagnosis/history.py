"""`RunHistory`: what a diagnosis knows of one run, read from files or from a followed log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.diagnosis.finding import Finding
    from tbq.states import State


class ScalarPoints(Protocol):
    """The points of one scalar tag, in the order of rows."""

    @property
    def steps(self) -> NDArray[np.int64]: ...
    @property
    def wall_times(self) -> NDArray[np.float64]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...


class Restart(NamedTuple):
    """A later session of the run: the first step that it logged, and when."""

    step: int
    wall_time: float


class Sibling(NamedTuple):
    """Another run of the log."""

    run: str
    state: State | None
    last_step: int | None
    hparams: Mapping[str, Any]


@dataclass(frozen=True)
class RunHistory:
    """A run: its state by the one rule, its scalars, restarts, hyperparameters, findings and siblings."""

    run: str
    state: State | None
    series: Mapping[str, ScalarPoints]
    restarts: Sequence[Restart] = ()
    dropped: Sequence[str] = ()  # what restarts and damage cost, in words
    hparams: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    siblings: Sequence[Sibling] = ()
    age: float = float("inf")  # seconds since its last event
    last_step: int | None = None

    @cached_property
    def pace(self) -> ScalarPoints | None:
        """The series that is logged most often: it shows how fast the run went."""
        return max(self.series.values(), key=lambda each: len(each.steps), default=None)


def restarts_of(takeovers: Mapping[str, Sequence[tuple[int, float]]]) -> list[Restart]:
    """The restarts of a run, from the places where later sessions took over in each of its tags.

    Tags that are logged rarely begin later: takeovers between two rows of the most frequent tag are one restart.

    >>> restarts_of({"loss": [(30, 600.0)], "val/loss": [(34, 604.0)]})
    [Restart(step=30, wall_time=600.0)]
    """
    longest = max(map(len, takeovers.values()), default=0)
    places = [each for each in takeovers.values() if len(each) == longest]
    return [Restart(*min(at, key=lambda place: place[1])) for at in zip(*places, strict=True)]


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values that are finite numbers."""
    kept: NDArray[np.float64] = values[np.isfinite(values)]
    return kept
