"""What changed before something happened: settings such as the learning rate, gradient norms, throughput."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tbq.diagnosis.history import finite
from tbq.numbers import number
from tbq.query.groups import value_text
from tbq.roles import is_gradient_norm, is_learning_rate, is_setting, is_speed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.diagnosis.history import RunHistory, ScalarPoints

_SHARE = 0.2  # the share of earlier steps that is searched for a cause
_SETTING, _FACTOR, _SLOWER = 0.2, 2.0, 1.5  # the smallest changes that count: of a setting, a norm, a speed
_LEAST = 3  # values before and after
_MOST = 4  # settings and norms each


@dataclass(frozen=True)
class QuantityChange:
    """How one quantity changed: `factor` is the later value over the earlier one; `changed` if that counts."""

    what: str
    tag: str | None
    before: float
    after: float
    step: int | None
    changed: bool

    @property
    def message(self) -> str:
        """In words."""
        name = self.what if self.tag is None else self.tag
        if not self.changed:
            return f"{name} did not change ({number(self.after)})"
        at = "" if self.step is None else f" at step {self.step:,}"
        times = ""
        if self.before and (self.after > 0) == (self.before > 0):
            factor = self.after / self.before
            times = f", × {number(factor, 2)}" if factor >= 1 else f", ÷ {number(1 / factor, 2)}"
        return f"{name} went from {number(self.before)} to {number(self.after)}{at}{times}"


def changes(history: RunHistory, step: int, end: int) -> list[QuantityChange]:
    """What changed in the steps up to `step`, and until `end`; what is logged but did not change comes last."""
    first = min((int(each.steps.min()) for each in history.series.values() if len(each.steps)), default=step)
    begin = step - max(int((step - first) * _SHARE), 1)
    found = [*_settings(history, begin, end), *_norms(history, begin, end), *_speeds(history, begin, end)]
    return sorted(found, key=lambda each: not each.changed)


def unlogged(history: RunHistory) -> list[str]:
    """The usual suspects that no tag of the run shows."""
    tags = list(history.series)
    missing = []
    if not any(is_learning_rate(tag) for tag in tags):
        learning_rates = [
            f"{name} = {value_text(value)}"
            for name, value in history.hparams.items()
            if is_learning_rate(name)
        ]
        missing.append(
            f"the learning rate as a tag{f' (hyperparameter {learning_rates[0]})' if learning_rates else ''}"
        )
    if not any(is_gradient_norm(tag) for tag in tags):
        missing.append("gradient norms")
    return missing


def _settings(history: RunHistory, begin: int, end: int) -> Iterator[QuantityChange]:
    """Learning rates first, then other settings, with the step at which most of their change happened, if it did."""
    tags = [tag for tag in history.series if is_setting(tag) and not is_gradient_norm(tag)]
    for tag in sorted(tags, key=lambda tag: not is_learning_rate(tag))[:_MOST]:
        series = history.series[tag]
        window = _between(series, begin, end)
        values, steps = series.values[window], series.steps[window]
        known = np.isfinite(values)
        values, steps = values[known], steps[known]
        if not len(values):
            continue
        jumps = np.abs(np.diff(values))
        at = int(np.argmax(jumps)) + 1 if len(jumps) else 0
        extreme = int(np.argmax(np.abs(values - values[0])))
        size = max(abs(float(values[0])), abs(float(values[extreme])))
        change = abs(float(values[extreme] - values[0]))
        changed = change > _SETTING * size
        at_once = changed and jumps[at - 1] > change / 2  # a schedule moves step by step
        yield QuantityChange(
            "setting",
            tag,
            float(values[0]),
            float(values[extreme]),
            int(steps[at]) if at_once else None,
            changed,
        )


def _norms(history: RunHistory, begin: int, end: int) -> Iterator[QuantityChange]:
    """The largest gradient norm of the window, against the median before it."""
    for tag in [tag for tag in history.series if is_gradient_norm(tag)][:_MOST]:
        series = history.series[tag]
        window = _between(series, begin, end)
        values, steps = series.values[window], series.steps[window]
        before = finite(series.values[series.steps < begin])
        if not len(values):
            continue
        if len(before) < _LEAST:
            before = finite(values[: max(len(values) // 2, 1)])
        if not len(before):
            continue
        highest = int(np.nanargmax(np.where(np.isnan(values), np.inf, values)))
        usual, peak = float(np.median(before)), float(values[highest])
        changed = not np.isfinite(peak) or peak > _FACTOR * max(usual, 1e-300)
        shown = peak if changed else float(np.median(finite(values)))
        yield QuantityChange(
            "gradient norm", tag, usual, shown, int(steps[highest]) if changed else None, changed
        )


def _speeds(history: RunHistory, begin: int, end: int) -> Iterator[QuantityChange]:
    """Steps per second by the wall times of the run, then throughputs that were logged."""
    pace = history.pace
    if pace is not None:
        middle = _between(pace, begin, end)
        rates = [_rate(pace, part) for part in (pace.steps < begin, middle)]
        if all(rate is not None for rate in rates):
            yield _speed("steps per second", None, *(rate or 0.0 for rate in rates))
    for tag in [tag for tag in history.series if is_speed(tag)][:_MOST]:
        series = history.series[tag]
        parts = [finite(series.values[part]) for part in (series.steps < begin, _between(series, begin, end))]
        if min(map(len, parts)) >= _LEAST:
            yield _speed("throughput", tag, *(float(np.median(part)) for part in parts))


def _speed(what: str, tag: str | None, before: float, after: float) -> QuantityChange:
    low, high = sorted((before, after))
    return QuantityChange(what, tag, before, after, None, high > _SLOWER * max(low, 1e-300))


def _rate(series: ScalarPoints, part: NDArray[np.bool_]) -> float | None:
    """The median speed from row to row, so that a pause does not count."""
    steps, times = np.diff(series.steps[part]), np.diff(series.wall_times[part])
    forward = (steps > 0) & (times > 0)
    if int(forward.sum()) < _LEAST:
        return None
    return float(np.median(steps[forward] / times[forward]))


def _between(series: ScalarPoints, begin: int, end: int) -> NDArray[np.bool_]:
    between: NDArray[np.bool_] = (series.steps >= begin) & (series.steps <= end)
    return between
