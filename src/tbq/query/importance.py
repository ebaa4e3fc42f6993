"""`log.importance`: how much of a metric each hyperparameter decides, whatever shape the dependence has.

Runs are ranked by the metric, so that one diverged run does not outweigh the others. The importance of a parameter is
the share of the variance of these ranks that it predicts: each run is predicted by the mean rank of the other runs with
the same value, or with a value of the same range (the predicted R² of an analysis of variance). Values of pure noise
predict nothing, however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pyarrow as pa

from tbq.arguments import bad, choice, keywords
from tbq.columns.codes import values_of
from tbq.decode.options import READING
from tbq.errors import SelectionError, warn
from tbq.numbers import number
from tbq.query import student
from tbq.query.groups import is_number, value_key, value_text
from tbq.roles import best_of
from tbq.summary.leaderboard import leaderboard
from tbq.summary.per_run import hyperparameters
from tbq.table.table import Table
from tbq.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.decode.options import Reading
    from tbq.decode.reader import Reader
    from tbq.select import Names, Steps

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_LEAST_RUNS = 4
_PER_RANGE = 6  # a number with fewer runs per value is also grouped into ranges
_LEAST_RANGES, _MOST_RANGES = 3, 10
_NOISE = 2.0  # a bend of a curve counts if it is larger than noise would make it, as an F ratio


@dataclass(frozen=True)
class Importance:
    """One hyperparameter: its share of the metric, from 0 to 1, and its direction, if it has one.

    `direction` is Spearman's rank correlation with the metric; None unless the metric only rises or only falls with
    the parameter, beyond chance.
    `best` is the value, or the range of values, with the best mean rank. `n` runs have the parameter and the metric,
    with so many different `values`. `note` says what was done or why there is no share.
    """

    name: str
    importance: float | None
    direction: float | None
    best: str | None
    n: int
    values: int
    note: str | None


_SCHEMA = pa.schema(
    [
        ("hparam", pa.string()),
        ("importance", pa.float64()),
        ("direction", pa.float64()),
        ("best", pa.string()),
        ("n", pa.int64()),
        ("values", pa.int64()),
        ("note", pa.string()),
    ]
)


def importance(
    reader: Reader,
    tag: str,
    best: Literal["min", "max"] | None = None,
    run: Names = None,
    steps: Steps = None,
    **reading: Unpack[Reading],
) -> Table:
    """One row per hyperparameter, the most important first; see `log.importance`."""
    keywords("log.importance", reading, ("best", "run", "steps", *READING))
    if not isinstance(tag, str):
        raise bad("tag", tag, "the name of a scalar")
    way = best_of(tag) if best is None else choice("best", best, ("min", "max"))
    table = leaderboard(reader, best={tag: way}, run=run, steps=steps, media=False, **reading)
    arrow = table.to_arrow()
    column = values_of(arrow[table.best[tag][0]])
    by_run = dict(zip(values_of(arrow["run"]), column, strict=True))
    values = {name: value for name, value in by_run.items() if value is not None}
    hparams = hyperparameters(reader, list(values))
    if not any(hparams.values()):
        raise SelectionError(
            f"no run with {tag!r} has hyperparameters", path=reader.path, hint="writer.add_hparams logs them"
        )
    odd = sum(not math.isfinite(value) for value in values.values())
    if odd or len(values) < len(by_run):
        said = [f"{counted(len(by_run) - len(values), 'run')} without {tag} left out"] * (
            len(values) < len(by_run)
        )
        said += [f"{counted(odd, 'run')} without a finite {tag} ranked last"] * bool(odd)
        warn("; ".join(said))
    rows = [
        {"hparam": each.name, **{name: getattr(each, name) for name in _SCHEMA.names[1:]}}
        for each in importances(values, way, hparams)
    ]
    return Table(pa.Table.from_pylist(rows, schema=_SCHEMA), "hyperparameters", logdir=reader.path)


def importances(
    values: Mapping[str, float], way: str, hparams: Mapping[str, Mapping[str, Any]]
) -> list[Importance]:
    """The hyperparameters from the most to the least important, those without a share last.

    `values` has the metric by run; a value that is not finite counts as the worst.

    >>> runs = {f"{lr}/{seed}": {"lr": lr, "seed": seed} for lr in (0.1, 0.2, 0.3) for seed in (1.0, 2.0, 3.0, 4.0)}
    >>> loss = {run: abs(each["lr"] - 0.2) + each["seed"] / 1000 for run, each in runs.items()}
    >>> [(each.name, each.direction, each.best) for each in importances(loss, "min", runs)]
    [('lr', None, '0.2'), ('seed', None, None)]
    """
    # In the order of names, so that the sums have the same last digits whatever order the runs come in.
    cost = {run: -value if way == "max" else value for run, value in sorted(values.items())}
    cost = {run: value if math.isfinite(value) else math.inf for run, value in cost.items()}
    names = sorted({name for run in cost for name in hparams.get(run, ())})
    rows = [_importance(name, cost, hparams, rising=way == "min") for name in names]
    return sorted(rows, key=lambda each: -1.0 if each.importance is None else each.importance, reverse=True)


def _importance(
    name: str, cost: Mapping[str, float], hparams: Mapping[str, Mapping[str, Any]], *, rising: bool
) -> Importance:
    values = {run: hparams.get(run, {}).get(name) for run in cost}
    having = [run for run, value in values.items() if value is not None and value == value]
    present = [hparams[run][name] for run in having]
    ranks = midranks(np.array([cost[run] for run in having], np.float64))
    numeric = all(map(is_number, present))
    texts = [value_text(value) for value in present]  # what tells groups apart: True is not 1
    distinct = dict(sorted(zip(texts, present, strict=True), key=lambda each: value_key(each[1])))
    notes = []
    share = direction = best = None
    if len(distinct) < 2:
        notes.append("constant")
    elif len(having) < _LEAST_RUNS:
        notes.append("too few runs")
    elif np.ptp(ranks) == 0:
        notes.append("the metric is constant")
    else:
        place = {text: i for i, text in enumerate(distinct)}
        codes = np.array([place[text] for text in texts], np.int64)
        groups = _Groups(codes, list(distinct))
        share = predicted_share(codes, ranks)
        if numeric and len(distinct) > _LEAST_RANGES and len(present) < _PER_RANGE * len(distinct):
            ranges = groups.ranges([number(value) for value in distinct.values()])
            of_ranges = predicted_share(ranges.codes, ranks)
            if of_ranges > share or len(distinct) == len(present):
                groups, share = ranges, of_ranges
                notes.append(f"in {len(ranges.labels)} ranges")
        if len(groups.labels) == len(present):
            notes.append("different in every run")
        if share > 0:
            means = np.bincount(groups.codes, ranks) / np.bincount(groups.codes)
            best = groups.labels[int(means.argmin())]
            direction = _direction(groups.codes, codes, ranks) if numeric else None
    if direction is not None and not rising:
        direction = -direction
    if len(having) < len(cost):
        missing = len(cost) - len(having)
        notes.append(f"{counted(missing, 'run')} {'lacks' if missing == 1 else 'lack'} it")
    return Importance(name, share, direction, best, len(having), len(distinct), "; ".join(notes) or None)


def midranks(values: Floats) -> Floats:
    """The rank of each value from 1 on; equal values share the mean of their ranks.

    >>> midranks(np.array([0.5, 0.1, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count - 1) / 2
    return np.asarray(middle[place], np.float64)


def predicted_share(codes: Ints, values: Floats) -> float:
    """The share of the variance that groups predict for a member that was left out; 0 if they predict nothing.

    A value alone in its group is predicted by the mean of all others.

    >>> predicted_share(np.array([0, 0, 1, 1]), np.array([1.0, 1.0, 3.0, 3.0]))
    1.0
    """
    total, size = len(values), np.bincount(codes)
    mean = np.bincount(codes, values) / np.maximum(size, 1)
    of_value = size[codes]
    left_out = (values - values.mean()) * (total / (total - 1))
    inside = (values - mean[codes]) * (of_value / np.maximum(of_value - 1, 1))
    errors = np.where(of_value > 1, inside, left_out)
    return max(0.0, float(1 - (errors @ errors) / (left_out @ left_out)))


@dataclass(frozen=True)
class _Groups:
    """The group of each run, and the name of each group, in the order of the parameter's values."""

    codes: Ints
    labels: Sequence[str]

    def ranges(self, short: Sequence[str]) -> _Groups:
        """Neighbouring values together, with about as many runs in each range; `short` has the names of their ends."""
        count = max(_LEAST_RANGES, min(_MOST_RANGES, len(self.codes) // _PER_RANGE))
        part = (midranks(self.codes.astype(np.float64)) - 0.5) / len(self.codes)
        used, codes = np.unique((part * count).astype(np.int64), return_inverse=True)
        inside = [self.codes[codes == i] for i in range(len(used))]
        ends = [(int(each.min()), int(each.max())) for each in inside]
        labels = [self.labels[low] if low == high else f"{short[low]} to {short[high]}" for low, high in ends]
        return _Groups(np.asarray(codes, np.int64), labels)


def _direction(codes: Ints, values: Ints, ranks: Floats) -> float | None:
    """Spearman's correlation, if it is beyond chance and a curve that only rises or only falls fits as well as any."""
    correlation = float(np.corrcoef(midranks(values.astype(np.float64)), ranks)[0, 1])
    freedom = len(ranks) - 2
    t = correlation * math.sqrt(freedom / max(1 - correlation**2, 1e-300))
    if student.two_sided(t, freedom) >= student.BEYOND_CHANCE:
        return None
    size = np.bincount(codes)
    means = np.bincount(codes, ranks) / size
    off = means - _rising(means if correlation >= 0 else -means, size) * (1 if correlation >= 0 else -1)
    bend = float(size @ (off * off))
    inside = ranks - means[codes]
    freedom = len(codes) - len(size)
    noise = float(inside @ inside) / freedom if freedom else 0.0
    return correlation if bend <= _NOISE * (len(size) - 1) * noise + 1e-9 else None


def _rising(means: Floats, sizes: Ints) -> Floats:
    """The closest means that never fall: neighbours that do are pooled."""
    pools: list[tuple[float, int, int]] = []  # mean, runs, groups
    for mean, size in zip(means.tolist(), sizes.tolist(), strict=True):
        pool = (mean, size, 1)
        while pools and pools[-1][0] > pool[0]:
            before = pools.pop()
            runs = before[1] + pool[1]
            pool = ((before[0] * before[1] + pool[0] * pool[1]) / runs, runs, before[2] + pool[2])
        pools.append(pool)
    return np.repeat([pool[0] for pool in pools], [pool[2] for pool in pools])
