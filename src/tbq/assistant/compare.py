"""What differs between two runs or groups of runs: hyperparameters, metrics, and the step at which they part."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tbq.assistant.answer import AskedWrongError, ToolAnswer, shown, value
from tbq.assistant.names import hparams_in, main_metric, paths_of, run_words, runs_of
from tbq.query import student
from tbq.query.groups import value_text
from tbq.roles import best_of, is_evaluation, role
from tbq.server.answers.groups import lines
from tbq.server.answers.metrics import values as metric_values
from tbq.text import counted, some

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.server.answers.groups import GroupLine
    from tbq.server.live_log import LiveLog

    Floats = NDArray[np.float64]

BUDGET = 800
_MOST_METRICS = 12
_VALUES = 4
_QUARTILES = 1.349  # their distance, in standard deviations
_LEAST = 4  # points from which single runs show their noise
_NOISE = 2.0  # times the noise: a distance that counts


def compare(log: LiveLog, a: str, b: str, metric: str | None = None) -> ToolAnswer:
    """The answer of the tool `compare`."""
    answer = ToolAnswer(BUDGET)
    first, second = runs_of(log, a, answer), runs_of(log, b, answer)
    if set(first) == set(second):
        raise AskedWrongError(f"a and b are the same: {some([shown(run) for run in first])}")
    tag = main_metric(log, metric, [*first, *second], answer)
    paths = paths_of(log)
    if len(first) == len(second) == 1:
        answer.command = ["tbq", "compare", *paths, *first, *second]
    else:
        answer.command = ["tbq", "summary", *paths, "--best", f"{tag}:{best_of(tag)}"]
        names = [*hparams_in(log, a), *hparams_in(log, b)]
        if names:
            answer.command += ["--by", ",".join(dict.fromkeys(f"hparam.{name}" for name in names))]
        elif all(_is_below(name, runs) for name, runs in ((a, first), (b, second))):
            answer.command += ["--by", f"re:({re.escape(a)}|{re.escape(b)})(/.*)?"]
        else:
            answer.command += run_words(log, [a, b])
    for name, runs in (("a", first), ("b", second)):
        answer.say(f"{name}: {_described(log, runs)}")
    shared = len(set(first) & set(second))
    if shared:
        answer.note(f"{counted(shared, 'run')} in both a and b")
    answer.listing("hyperparameters that differ (a, b)", _hparams(log, first, second), "hyperparameter")
    answer.say(_parting(log, tag, first, second))
    tags = [tag, *(each for each in _metrics(log, [*first, *second]) if each != tag)]
    rows = [row for each in tags[:_MOST_METRICS] for row in _metric(log, each, first, second)]
    hint = "tbq compare shows all" if len(first) == len(second) == 1 else ""
    answer.listing("metrics (a, b, b - a)", rows, "metric", hint, max(len(tags) - _MOST_METRICS, 0))
    return answer


def _is_below(folder: str, runs: Sequence[str]) -> bool:
    return all(run == folder or run.startswith(f"{folder}/") for run in runs)


def _described(log: LiveLog, runs: Sequence[str]) -> str:
    states = log.states_now()
    if len(runs) == 1:
        with log.lock:
            step = log.states[runs[0]].step if runs[0] in log.states else None
        return f"{shown(runs[0])}, {states.get(runs[0], 'not read yet')}, step {step}"
    counts = Counter(states.get(run, "not read yet") for run in runs)
    in_words = ", ".join(f"{count:,} {state}" for state, count in counts.most_common())
    return f"{counted(len(runs), 'run')} ({some([shown(run) for run in runs])}), {in_words}"


def _hparams(log: LiveLog, first: Sequence[str], second: Sequence[str]) -> Iterator[str]:
    known = log.hparams_of([*first, *second])
    names = sorted({name for values in known.values() for name in values})
    for name in names:
        left, right = (Counter(_text(known.get(run, {}), name) for run in runs) for runs in (first, second))
        if set(left) != set(right):
            yield f"{shown(name)}: {_values(left)} | {_values(right)}"
    if not known:
        yield "neither has hyperparameters"
    elif not any(set(known.get(run, {})) for run in first) or not any(known.get(run) for run in second):
        yield "one of them has no hyperparameters"


def _text(values: Mapping[str, Any], name: str) -> str:
    return value_text(values[name]) if name in values else "(none)"


def _values(counts: Counter[str]) -> str:
    return some([shown(text) for text, _ in counts.most_common()], _VALUES)


def _metrics(log: LiveLog, runs: Sequence[str]) -> list[str]:
    """Scalars that are metrics, those of evaluations first, then all others."""
    with log.lock:
        tags = [tag for tag, kinds, _ in log.index.totals(runs) if "scalars" in kinds]
    return sorted(tags, key=lambda tag: (role(tag) not in ("loss", "score"), not is_evaluation(tag)))


def _metric(log: LiveLog, tag: str, first: Sequence[str], second: Sequence[str]) -> Iterator[str]:
    """A line each for the best value, if the tag is a metric, and for the last."""
    stats = [best_of(tag), "last"] if role(tag) in ("loss", "score") else ["last"]
    for stat in stats:
        sides = [list(metric_values(log, tag, stat, runs).values()) for runs in (first, second)]
        if not any(sides):
            continue
        finite = [[each for each in side if math.isfinite(each)] for side in sides]
        means = [float(np.mean(side)) if side else math.nan for side in finite]
        text = f"{shown(tag)} {stat}: {_mean(sides[0], finite[0])} | {_mean(sides[1], finite[1])}"
        if not math.isnan(means[0] + means[1]):
            text += f" | {value(means[1] - means[0])}"
            if means[0]:
                text += f" ({100 * (means[1] - means[0]) / abs(means[0]):+.3g} %)"
        if min(map(len, finite)) > 1:
            spread = [(float(np.mean(side)), float(np.std(side, ddof=1)), len(side)) for side in finite]
            p = student.welch(spread[0], spread[1])
            text += f", p {value(p, 2)}" if p is not None else ""
        yield text


def _mean(side: Sequence[float], finite: Sequence[float]) -> str:
    if not side:
        return "none"
    odd = len(side) - len(finite)
    lost = f" ({odd} not finite)" if odd else ""
    if not finite:
        return "not finite"
    return (
        f"mean {value(float(np.mean(finite)))} of {len(finite)}" if len(side) > 1 else value(finite[0])
    ) + lost


def _parting(log: LiveLog, tag: str, first: Sequence[str], second: Sequence[str]) -> str:
    """The step from which on the two curves stay apart."""
    members = {"a": list(first), "b": list(second)}
    with log.lock:
        members = {name: log.index.having("scalars", tag, runs) for name, runs in members.items()}
    lacking = [name for name, runs in members.items() if not runs]
    if lacking:
        return f"{' and '.join(lacking)} without {shown(tag)}"
    curves = {name: _Middle.of(line) for name, line in lines(log, tag, members, "step", 0.0, "quantiles")}
    aligned = _aligned(curves["a"], curves["b"])
    if aligned is None:
        return f"{shown(tag)}: the steps of a and b do not overlap"
    steps, distance, noise, how = aligned
    if len(steps) < 2:
        return f"{shown(tag)}: a and b share only step {steps[0]}"
    apart = (np.abs(distance) > noise) & (np.sign(distance) == np.sign(distance[-1])) & (distance != 0)
    if not apart[-1]:
        return f"{shown(tag)}: they do not part for good, up to step {steps[-1]}{how}"
    together = np.flatnonzero(~apart)
    begin = int(together[-1]) + 1 if len(together) else 0
    side = "b is lower" if distance[-1] < 0 else "b is higher"
    return (
        f"{shown(tag)}: they part at step {steps[begin]}; from there {side}, at step {steps[-1]} by "
        f"{value(abs(float(distance[-1])))}{how}"
    )


class _Middle(NamedTuple):
    """The median over runs at each step, and how exact it is; medians ignore a run that diverged."""

    step: NDArray[np.int64]
    value: Floats
    error: Floats

    @classmethod
    def of(cls, line: GroupLine) -> _Middle:
        assert line.quartiles is not None
        low, middle, high = line.quartiles
        known = np.isfinite(middle)
        error = (high - low) / _QUARTILES / np.sqrt(np.maximum(line.moments.count, 1))
        return cls(line.moments.step[known], middle[known], np.where(np.isfinite(error), error, 0.0)[known])


def _aligned(a: _Middle, b: _Middle) -> tuple[NDArray[np.int64], Floats, Floats, str] | None:
    """Steps, b - a, and the noise of it; curves that were logged at other steps are interpolated."""
    if not (len(a.step) and len(b.step)):
        return None
    steps, how = np.intersect1d(a.step, b.step), ""
    if len(steps) < min(len(a.step), len(b.step)) / 2:
        low, high = max(a.step[0], b.step[0]), min(a.step[-1], b.step[-1])
        every = np.unique(np.concatenate([a.step, b.step]))
        steps, how = every[(every >= low) & (every <= high)], " (logged at different steps: interpolated)"
    if not len(steps):
        return None
    values, errors = (
        [np.interp(steps, each.step, column) for each, column in pairs]
        for pairs in (((a, a.value), (b, b.value)), ((a, a.error), (b, b.error)))
    )
    distance, noise = values[1] - values[0], np.hypot(*errors)
    if (
        len(distance) > _LEAST and not noise.any()
    ):  # single runs: how much the distance jumps from point to point
        noise = np.full(len(distance), float(np.median(np.abs(np.diff(distance, 2)))) / 2)
    return steps, distance, _NOISE * noise, how
