"""`log.reduce`: statistics over runs that repeat each other (seeds), step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.arguments import choices
from tbq.arrays import without_overflow
from tbq.columns.codes import begins, codes_of, numbers, starts_of
from tbq.columns.grouped import complete
from tbq.errors import warn
from tbq.query import student
from tbq.query.aligned import Aligned, aligned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

DEFAULT = ("mean", "std", "min", "max")
_OF_TWO = ("std", "sem", "ci95")  # undefined for a single value


def reduce(
    scalars: pa.Table,
    groups: Mapping[str, str],
    stats: Sequence[str] | str = DEFAULT,
    *,
    general_only: bool = False,
) -> pa.Table:
    """One row per group, tag and step with the columns `group, tag, step`, one for each statistic, and `n`.

    `groups` maps each run to its group; runs without one are left out. If a run has two values for one tag at one step,
    the last counts. NaN is left out; `n` is the number of remaining values. std has ddof=1; sem is the standard error
    of the mean, mean ± ci95 the 95 % interval by Student's t; q25 and q75 are quartiles, interpolated
    as in NumPy. Statistics that need more values are null. `general_only` switches the fast path off.

    >>> table = pa.table({"run": ["a1", "a2"], "tag": ["loss"] * 2, "step": [1, 1], "value": [1.0, 3.0]})
    >>> reduce(table, {"a1": "a", "a2": "a"}, "mean,std").to_pylist()
    [{'group': 'a', 'tag': 'loss', 'step': 1, 'mean': 2.0, 'std': 1.4142135623730951, 'n': 2}]
    """
    names = parse(stats)
    scalars = complete(scalars)
    short = None if general_only else aligned(scalars, groups)
    rows = _CellRows.of(scalars, groups) if short is None else short
    groups_of, tags_of = _labels(rows)
    columns: dict[str, Any] = {"group": groups_of, "tag": tags_of, "step": pa.array(rows.step)}
    for name in names:
        if name != "n":
            values = STATS[name](rows)
            columns[name] = pa.array(values, mask=rows.count < (2 if name in _OF_TWO else 1))
    return pa.table({**columns, "n": pa.array(rows.count)})


def parse(stats: Sequence[str] | str) -> list[str]:
    """Statistics by name, from a list or a text with commas."""
    return choices("stats", stats, tuple(STATS))


@dataclass(frozen=True)
class _CellRows:
    """The values, and the cell of each: one cell for each (group, tag, step), in that order."""

    cell: Ints
    value: Floats
    key: Ints  # the rank of each cell's group and tag
    step: Ints  # the step of each cell
    groups: list[str]
    tags: list[str]

    @classmethod
    def of(cls, table: pa.Table, groups: Mapping[str, str]) -> _CellRows:
        group_names = sorted(set(groups.values()))
        rank = {name: i for i, name in enumerate(group_names)}
        run, run_names = codes_of(table.column("run"))
        tag, tag_names = codes_of(table.column("tag"))
        tags = sorted(tag_names.to_pylist())
        place = {name: i for i, name in enumerate(tags)}
        group_of_run = np.array(
            [rank[groups[name]] if name in groups else -1 for name in run_names.to_pylist()] + [-1], np.int64
        )
        rank_of_tag = np.array([place[name] for name in tag_names.to_pylist()] + [0], np.int64)
        group = group_of_run[run]
        key = group * max(len(tags), 1) + rank_of_tag[tag]
        step, value = numbers(table.column("step")), numbers(table.column("value"))
        inside = group >= 0
        if not inside.all():
            run, key, step, value = run[inside], key[inside], step[inside], value[inside]
        if not _each_once(run, key, step):
            kept = _last_of_each(run, key, step)
            key, step, value = key[kept], step[kept], value[kept]
        cell, first = _cells(key, step, len(group_names) * max(len(tags), 1))
        return cls(cell, value, key[first], step[first], group_names, tags)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.value)

    @cached_property
    def count(self) -> Ints:
        return np.bincount(self.cell[self.present], minlength=len(self.key)).astype(np.int64)

    @cached_property
    def mean(self) -> Floats:
        values = np.where(self.present, self.value, 0.0)
        return np.asarray(without_overflow(lambda values: self._sum(values) / self.count, values))

    @cached_property
    def std(self) -> Floats:
        def spread(values: Floats, mean: Floats) -> Floats:
            off = np.where(self.present, values - mean[self.cell], 0.0)
            return np.sqrt(self._sum(off * off) / (self.count - 1))

        return np.asarray(without_overflow(spread, self.value, self.mean))

    @cached_property
    def ordered(self) -> tuple[Floats, Ints]:
        """The sorted values of each cell, NaN last, and the start of each cell."""
        value = self.value[np.lexsort((self.value, self.cell))]
        size = np.bincount(self.cell, minlength=len(self.key))
        return value, (np.cumsum(size) - size).astype(np.int64)

    def min(self) -> Floats:
        out = np.full(len(self.key), np.inf)
        np.fmin.at(out, self.cell, self.value)
        return out

    def max(self) -> Floats:
        out = np.full(len(self.key), -np.inf)
        np.fmax.at(out, self.cell, self.value)
        return out

    def _sum(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.cell, values, minlength=len(self.key)), np.float64)


def _labels(rows: _CellRows | Aligned) -> tuple[pa.Array, pa.Array]:
    width = max(len(rows.tags), 1)
    group, tag = (
        pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names, pa.string()))
        for codes, names in ((rows.key // width, rows.groups), (rows.key % width, rows.tags))
    )
    return group, tag


def _sem(rows: _CellRows | Aligned) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(rows.std / np.sqrt(rows.count), np.float64)


def _ci95(rows: _CellRows | Aligned) -> Floats:
    reach = np.zeros(int(rows.count.max(initial=1)) + 1)
    for n in np.unique(rows.count).tolist():
        reach[n] = student.quantile(0.975, n - 1) if n > 1 else 0.0
    with np.errstate(all="ignore"):
        return np.asarray(reach[rows.count] * rows.std / np.sqrt(rows.count), np.float64)


def _quantile(rows: _CellRows | Aligned, q: float) -> Floats:
    """Interpolated between two values if q falls between them, as in NumPy."""
    value, start = rows.ordered
    place = np.maximum(rows.count - 1, 0) * q
    below = np.floor(place).astype(np.int64)
    share = place - below
    low, high = value[start + below], value[start + np.ceil(place).astype(np.int64)]
    with np.errstate(all="ignore"):  # weighted, because the difference may overflow
        return np.asarray(np.where(low == high, low, low * (1 - share) + high * share), np.float64)


STATS: dict[str, Callable[[_CellRows | Aligned], NDArray[Any]]] = {
    "mean": lambda rows: rows.mean,
    "std": lambda rows: rows.std,
    "min": lambda rows: rows.min(),
    "max": lambda rows: rows.max(),
    "median": lambda rows: _quantile(rows, 0.5),
    "ci95": _ci95,
    "sem": _sem,
    "q25": lambda rows: _quantile(rows, 0.25),
    "q75": lambda rows: _quantile(rows, 0.75),
    "n": lambda rows: rows.count,
}


def _each_once(run: NDArray[Any], key: Ints, step: Ints) -> bool:
    """Whether each run clearly has at most one value per tag and step: one block each, with ascending steps."""
    if not len(run):
        return True
    same = (run[1:] == run[:-1]) & (key[1:] == key[:-1])
    if not bool((~same | (step[1:] > step[:-1])).all()):
        return False
    first = np.concatenate([[0], np.flatnonzero(~same) + 1])
    blocks = run[first].astype(np.int64) * (int(key.max()) + 1) + key[first]
    return len(np.unique(blocks)) == len(blocks)


def _last_of_each(run: NDArray[Any], key: Ints, step: Ints) -> Ints:
    order = np.lexsort((run, step, key))
    run, key, step = run[order], key[order], step[order]
    last = np.ones(len(run), bool)
    last[:-1] = (run[1:] != run[:-1]) | (step[1:] != step[:-1]) | (key[1:] != key[:-1])
    return np.asarray(order[last])


def _cells(key: Ints, step: Ints, keys: int) -> tuple[Ints, Ints]:
    """The cell of each row, and a row of each cell: by a table of slots if steps are dense, otherwise by sorting."""
    if not len(key):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low, high = int(step.min()), int(step.max())
    if keys * (high - low + 1) <= 8 * len(key) + (1 << 16):
        slot = key * (high - low + 1) + (step - low)
        row = np.full(keys * (high - low + 1), -1, np.int64)
        row[slot] = np.arange(len(slot))
        used = row >= 0
        return (np.cumsum(used) - 1)[slot], row[used]
    order = np.lexsort((step, key))
    fresh = begins(key[order], step[order])
    cell = np.empty(len(key), np.int64)
    cell[order] = np.cumsum(fresh) - 1
    return cell, np.asarray(order[fresh])


def tell_uneven(scalars: pa.Table, groups: Mapping[str, str]) -> None:
    """Warn about tags that only some runs of a group have."""
    sizes = Counter(groups.values())
    runs, run_names = codes_of(scalars["run"])
    tags, tag_names = codes_of(scalars["tag"])
    run_of, tag_of = run_names.to_pylist(), tag_names.to_pylist()
    having: Counter[tuple[str, str]] = Counter()
    starts = starts_of(runs, tags)
    for pair in np.unique(runs[starts].astype(np.int64) * max(len(tag_of), 1) + tags[starts]).tolist():
        run, tag = run_of[pair // len(tag_of)], tag_of[pair % len(tag_of)]
        if run in groups:
            having[groups[run], tag] += 1
    uneven = sorted((group, tag, count) for (group, tag), count in having.items() if count < sizes[group])
    if uneven:
        shown = "; ".join(
            f"{tag!r} in {count} of {sizes[group]} runs of {group!r}" for group, tag, count in uneven[:3]
        )
        more = f"; and {len(uneven) - 3:,} more" if len(uneven) > 3 else ""
        warn(f"not every run has every tag: {shown}{more}")
