"""The course of a run: where a loss leaves it for good, where nothing was logged, where the best value was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tbq.diagnosis.history import finite
from tbq.numbers import duration, number
from tbq.roles import best_of, is_evaluation, role

if TYPE_CHECKING:
    from tbq.diagnosis.history import RunHistory, ScalarPoints

_LEAST = 5  # points from which a course is judged
_NEAR = 0.1  # a value within this share of a loss's descent above the best value is still on course
_GONE = 1.0  # a value this many descents above the start has exploded
_PAUSE, _PAUSES = 60.0, 20.0  # a pause is longer than these seconds, and than this many usual pauses
_MOST = 3  # of each kind


@dataclass(frozen=True)
class Departure:
    """A loss that left its course: its last good step, and where it became not finite, or far above its start."""

    tag: str
    step: int
    value: float
    peak: float
    peak_step: int
    broken: int | None  # the first step of the values that are not finite until the end
    not_finite: int  # how many they are

    @property
    def message(self) -> str:
        """In words."""
        text = f"{self.tag} left its course after step {self.step:,} ({number(self.value)})"
        if self.peak > self.value and self.peak_step > self.step:
            text += f", rose to {number(self.peak)} at step {self.peak_step:,}"
        if self.broken is not None:
            text += f", and is not finite from step {self.broken:,} on ({self.not_finite:,} values)"
        return text

    @property
    def end(self) -> int:
        """The step by which it had certainly happened."""
        return self.peak_step if self.broken is None else self.broken


@dataclass(frozen=True)
class Pause:
    """A time without rows, between two steps."""

    seconds: float
    step: int
    next_step: int

    @property
    def message(self) -> str:
        """In words."""
        return f"nothing was logged for {duration(self.seconds)} between steps {self.step:,} and {self.next_step:,}"


def departures(history: RunHistory) -> list[Departure]:
    """The losses that left their course for good, the earliest first."""
    left = [departure(tag, each) for tag, each in history.series.items() if role(tag) == "loss"]
    return sorted((each for each in left if each is not None), key=lambda each: (each.step, each.tag))


def departure(tag: str, series: ScalarPoints) -> Departure | None:
    """Where a loss left its course, if it never came back.

    >>> from tbq.table.scalars import Series
    >>> values = np.array([4.0, 2.0, 1.0, 1.1, 3.0, 9.0, np.nan])
    >>> departure("loss", Series(np.arange(7), np.zeros(7), values)).message
    'loss left its course after step 3 (1.1), rose to 9 at step 5, and is not finite from step 6 on (1 values)'
    """
    steps, values = series.steps, series.values
    if len(values) < 2:
        return None
    good = np.isfinite(values)
    tail = len(values) - int(np.argmax(good[::-1])) if good.any() else 0  # the values after it are not finite
    broken = int(steps[tail]) if tail < len(values) else None
    course, known = values[:tail], good[:tail]
    if not known.any():
        return Departure(
            tag, int(steps[0]), float(values[0]), float("nan"), int(steps[0]), broken, len(values)
        )
    filled = np.where(known, course, np.inf)
    lowest = int(np.argmin(filled))
    best = float(filled[lowest])
    began = float(finite(course[: lowest + 1]).max())
    way = max(began - best, abs(best) * 0.1, 1e-12)
    rest = np.where(known, course, -np.inf)[lowest:]
    if broken is None and (len(values) < _LEAST or course[-1] <= began + _GONE * way):
        return None  # it ends within the range that it began in
    near = np.flatnonzero(known & (course <= best + _NEAR * way))
    last = int(near[-1])
    highest = lowest + int(np.argmax(rest))
    return Departure(
        tag, int(steps[last]), float(course[last]), float(rest.max()), int(steps[highest]), broken,
        len(values) - tail,
    )  # fmt: skip


def pauses(history: RunHistory) -> list[Pause]:
    """The longest times without rows, by the wall times of all scalars; times before a restart do not count."""
    series = list(history.series.values())
    if not series:
        return []
    times = np.concatenate([each.wall_times for each in series])
    steps = np.concatenate([each.steps for each in series])
    order = np.argsort(times, kind="stable")
    times, steps = times[order], steps[order]
    gaps = np.diff(times)
    usual = gaps[gaps > 0]
    if not len(usual):
        return []
    resumed = [each.wall_time for each in history.restarts]
    long = np.flatnonzero(gaps >= max(_PAUSE, _PAUSES * float(np.median(usual))))
    found = [
        Pause(float(gaps[i]), int(steps[i]), int(steps[i + 1]))
        for i in long
        if float(times[i + 1]) not in resumed
    ]
    return sorted(found, key=lambda each: -each.seconds)[:_MOST]


def milestones(history: RunHistory, left: Sequence[Departure] = ()) -> Iterator[str]:
    """The best and the last value of the metrics that were evaluated; without any, of all metrics. Not of those that
    left their course."""
    several = [tag for tag, each in history.series.items() if len(each.steps) > 1]
    gone = {each.tag for each in left}
    metrics = [tag for tag in several or history.series if role(tag) in ("loss", "score") and tag not in gone]
    chosen = [tag for tag in metrics if is_evaluation(tag)] or metrics
    for tag in chosen[:_MOST]:
        series, way = history.series[tag], best_of(tag)
        values = np.where(np.isfinite(series.values), series.values, np.nan)
        if np.isnan(values).all():
            yield f"{tag} has no finite value ({len(values):,} values)"
            continue
        at = int(np.nanargmin(values) if way == "min" else np.nanargmax(values))
        text = f"{tag}: best {number(values[at])} at step {series.steps[at]:,}"
        if at + 1 < len(values):
            text += f", last {number(float(series.values[-1]))} at step {series.steps[-1]:,}"
        yield text
    yield from _overfitting(history, chosen)


def _overfitting(history: RunHistory, tags: list[str]) -> Iterator[str]:
    """Evaluation losses that rose from their best value on, while a training loss fell."""
    training = [
        each for tag, each in history.series.items() if role(tag) == "loss" and not is_evaluation(tag)
    ]
    for tag in tags:
        series = history.series[tag]
        if role(tag) != "loss" or not is_evaluation(tag) or not np.isfinite(series.values).all():
            continue
        values = series.values
        at = int(np.argmin(values))
        if len(values) < _LEAST or len(values) - at < _LEAST:
            continue
        rose = float(values[-1] - values[at]) > _NEAR * max(float(values[: at + 1].max() - values[at]), 1e-12)
        step = int(series.steps[at])
        if rose and any(_fell(each, step) for each in training):
            yield f"{tag} rose from step {step:,} on, while a training loss fell: it overfits"


def _fell(series: ScalarPoints, step: int) -> bool:
    """Whether the values after a step are lower than those at it, in the mean of each half of the rest."""
    rest = finite(series.values[series.steps >= step])
    half = len(rest) // 2
    return half >= 2 and float(rest[half:].mean()) < float(rest[:half].mean())
