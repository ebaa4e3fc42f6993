"""The summary layout: one row per run, statistics of each tag as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tbq.arguments import choices
from tbq.arrays import without_overflow
from tbq.columns.codes import numbers_array, starts_of
from tbq.columns.grouped import GroupedRows
from tbq.columns.names import TAG, distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Statistic(NamedTuple):
    """One column of a summary: a statistic of a tag, one value per run."""

    tag: str
    stat: str
    values: pa.Array

    @property
    def name(self) -> str:
        """The column's default name: for `last`, the tag's own name."""
        return self.tag if self.stat == "last" else f"{self.tag}.{self.stat}"


def summary(
    table: pa.Table, stats: Sequence[str] | str = ("last",), tags: Sequence[str] | None = None
) -> pa.Table:
    """Statistics of each run and tag: `last` under the tag's own name, others as `<tag>.<stat>`.

    min and max ignore NaN, as mean and std (ddof=1) do; `first` and `last` may be NaN; `count` is the number
    of points; `min_step` and `max_step` are the steps of the smallest and the largest value. A tag whose name equals
    a statistic column of another tag becomes `tag.<tag>`.
    """
    runs, of_tags = statistics(table, stats, tags)
    # Statistics get their names before tags: `tag.loss.min` is always the tag loss.min, never the statistic.
    order = sorted(range(len(of_tags)), key=lambda i: of_tags[i].stat == "last")
    names = dict(
        zip(order, distinct([(of_tags[i].name, TAG) for i in order], reserved=("run",)), strict=True)
    )
    return pa.table({"run": runs, **{names[i]: statistic.values for i, statistic in enumerate(of_tags)}})


def statistics(
    table: pa.Table, stats: Sequence[str] | str = ("last",), tags: Sequence[str] | None = None
) -> tuple[pa.Array, list[Statistic]]:
    """The runs, and the statistics of each tag (`tags` in their order, or all by name) for each run."""
    chosen = choices("stats", stats, tuple(STATS))
    rows = GroupedRows.of(table)
    run_of_row = rows.run[starts_of(rows.run)]
    row_of_run = np.zeros(len(rows.run_names) + 1, np.int64)
    row_of_run[run_of_row] = np.arange(len(run_of_row))
    runs = pa.DictionaryArray.from_arrays(
        numbers_array(run_of_row.astype(np.int32)), pa.array(rows.run_names, pa.string())
    )
    grouped = _SeriesStatistics(rows)
    results = (
        [STATS[stat](grouped) for stat in chosen]
        if len(rows.run)
        else [StatisticValues(np.zeros(0)) for _ in chosen]
    )
    groups = _groups_by_tag(rows)
    nothing = np.zeros(0, np.int64)
    of_tags = []
    for tag in sorted(groups) if tags is None else dict.fromkeys(tags):
        rows_of_tag = groups.get(tag, nothing)
        places = row_of_run[rows.run[rows.starts[rows_of_tag]]] if len(rows_of_tag) else nothing
        of_tags += [
            Statistic(tag, stat, _column(result, rows_of_tag, places, len(run_of_row)))
            for stat, result in zip(chosen, results, strict=True)
        ]
    return runs, of_tags


class StatisticValues(NamedTuple):
    """One value per run and tag, and a mask of absent values, if any."""

    known: NDArray[Any]
    absent: NDArray[np.bool_] | None = None


class _SeriesStatistics:
    """Intermediate results that statistics share, computed once: one value per run and tag."""

    def __init__(self, rows: GroupedRows) -> None:
        self.rows = rows
        self.starts = rows.starts
        self.lengths = np.diff(np.append(rows.starts, len(rows.run)))
        self._cache: dict[str, Floats] = {}

    def min(self) -> Floats:
        return self._once("min", lambda: np.fmin.reduceat(self.rows.value, self.starts))

    def max(self) -> Floats:
        return self._once("max", lambda: np.fmax.reduceat(self.rows.value, self.starts))

    def numbers(self) -> Floats:
        """The number of values that are not NaN."""
        return self._once("numbers", lambda: self._sum((~np.isnan(self.rows.value)).astype(np.float64)))

    def mean(self) -> Floats:
        def mean(values: Floats) -> Floats:
            return self._sum(values) / self.numbers()

        return self._once("mean", lambda: without_overflow(mean, self._no_nan(self.rows.value)))

    def std(self) -> Floats:
        def spread(values: Floats, mean: Floats) -> Floats:
            off = values - np.repeat(mean, self.lengths)
            squares = self._sum(np.where(np.isnan(values), 0.0, off * off))
            return np.asarray(np.sqrt(squares / np.where(self.numbers() > 1, self.numbers() - 1, np.nan)))

        return np.asarray(without_overflow(spread, self.rows.value, self.mean()))

    def step_of(self, extreme: Floats) -> StatisticValues:
        """The first step at which each group has its extreme; absent if all values are NaN."""
        hits = np.flatnonzero(self.rows.value == np.repeat(extreme, self.lengths))
        first = np.searchsorted(hits, self.starts)
        known = ~np.isnan(extreme)
        steps = np.zeros(len(extreme), np.int64)
        steps[known] = self.rows.step[hits[first[known]]]
        return StatisticValues(steps, ~known)

    @staticmethod
    def _no_nan(values: Floats) -> Floats:
        return np.where(np.isnan(values), 0.0, values)

    def _sum(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.starts))

    def _once(self, name: str, compute: Callable[[], Floats]) -> Floats:
        if name not in self._cache:
            self._cache[name] = np.asarray(compute())
        return self._cache[name]


STATS: dict[str, Callable[[_SeriesStatistics], StatisticValues]] = {
    "first": lambda g: StatisticValues(g.rows.value[g.starts]),
    "last": lambda g: StatisticValues(g.rows.value[g.rows.ends - 1]),
    "min": lambda g: StatisticValues(g.min()),
    "max": lambda g: StatisticValues(g.max()),
    "mean": lambda g: StatisticValues(g.mean()),
    "std": lambda g: StatisticValues(g.std()),
    "count": lambda g: StatisticValues(g.lengths),
    "min_step": lambda g: g.step_of(g.min()),
    "max_step": lambda g: g.step_of(g.max()),
}


def _groups_by_tag(rows: GroupedRows) -> dict[str, NDArray[np.int64]]:
    tags = rows.tag[rows.starts]
    if not len(tags):
        return {}
    order = np.argsort(tags, kind="stable")
    ordered = tags[order]
    begins = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1  # not np.unique, which would import numpy.ma
    return {rows.tag_names[tags[part[0]]]: part for part in np.split(order, begins)}


def _column(
    values: StatisticValues, groups: NDArray[np.int64], places: NDArray[np.int64], count: int
) -> pa.Array:
    """The values of these groups at these places of a column; the other places are null."""
    column = np.zeros(count, values.known.dtype)
    absent = np.ones(count, bool)
    column[places] = values.known[groups]
    absent[places] = False if values.absent is None else values.absent[groups]
    return numbers_array(column, absent)
