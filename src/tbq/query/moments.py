"""Statistics over more runs than fit into memory: computed for some runs at a time and merged, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from tbq.columns.codes import numbers
from tbq.query.aligned import Aligned, aligned_runs
from tbq.query.reduce import STATS, reduce

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Runs = Sequence[tuple[Ints, Floats]]  # the steps and the values of each

BANDS = ("none", "std", "sem", "ci95", "minmax")


@dataclass(frozen=True)
class Moments:
    """The count, mean, standard deviation, minimum and maximum of the values at each step."""

    step: Ints
    count: Ints
    mean: Floats
    std: Floats  # NaN for fewer than two values
    min: Floats
    max: Floats

    @classmethod
    def of(cls, scalars: pa.Table) -> Moments:
        """The moments of a table with one tag, over all its runs, computed by `reduce`."""
        table = _reduced(scalars, ("mean", "std", "min", "max"))
        values = [np.asarray(table[name].to_numpy(), np.float64) for name in ("mean", "std", "min", "max")]
        return cls(numbers(table["step"]), numbers(table["n"]), *values)

    @classmethod
    def of_runs(cls, runs: Runs) -> Moments:
        """The same, of the steps and values of some runs.

        >>> Moments.of_runs([(np.array([0, 1]), np.array([1.0, 5.0])), (np.array([0]), np.array([3.0]))]).mean
        array([2., 5.])
        """
        rows = _aligned(runs)
        if rows is None:
            return cls.of(_table(runs))
        return cls(rows.step, rows.count, rows.mean, rows.std, rows.min(), rows.max())

    def reordered(self, order: Ints) -> Moments:
        """The same steps in another order."""
        return Moments(**{name: column[order] for name, column in vars(self).items()})

    def ends(self, band: str) -> tuple[Floats, Floats]:
        """The lower and the upper end of a band; for a single value, a band around the mean has no width."""
        if band == "minmax":
            return self.min, self.max
        if band == "none":
            return self.mean, self.mean
        # These statistics need only a std and a count.
        reach = self.std if band == "std" else STATS[band](cast("Any", self))
        reach = np.where(self.count < 2, 0.0, reach)
        with np.errstate(all="ignore"):
            return self.mean - reach, self.mean + reach


def merged(parts: Iterable[Moments]) -> Moments:
    """The statistics of all runs, merged from those of some runs each (Chan's formula, which loses no digits).

    >>> one = Moments(np.array([0]), np.array([1]), *(np.array([v]) for v in (1.0, np.nan, 1.0, 1.0)))
    >>> two = Moments(np.array([0]), np.array([1]), *(np.array([v]) for v in (3.0, np.nan, 3.0, 3.0)))
    >>> both = merged([one, two])
    >>> both.count.tolist(), both.mean.tolist(), both.std.round(6).tolist(), both.max.tolist()
    ([2], [2.0], [1.414214], [3.0])
    """
    listed = [part for part in parts if len(part.step)]
    if len(listed) == 1:
        return listed[0]
    step = np.unique(np.concatenate([part.step for part in listed])) if listed else np.zeros(0, np.int64)
    count = np.zeros(len(step), np.int64)
    mean, spread = np.zeros(len(step)), np.zeros(len(step))  # the second: the root of the sum of squares
    smallest, greatest = np.full(len(step), np.nan), np.full(len(step), np.nan)
    for part in listed:
        at = np.searchsorted(step, part.step)
        some = part.count > 0
        at, before, more = at[some], count[at[some]], part.count[some]
        both = before + more
        with np.errstate(all="ignore"):
            off = part.mean[some] - mean[at]
            inside = np.where(more > 1, part.std[some] * np.sqrt(more - 1), 0.0)
            between = np.where(before > 0, off * np.sqrt(before * (more / both)), 0.0)
            spread[at] = np.hypot(np.hypot(spread[at], inside), between)  # squares might overflow
            # The distance of two infinite means is not a number, and that of two huge ones may be infinite.
            shares = mean[at] * (before / both) + part.mean[some] * (more / both)
            mean[at] = np.where(np.isfinite(off), mean[at] + off * (more / both), shares)
            mean[at] = np.where(before > 0, mean[at], part.mean[some])
        smallest[at] = np.fmin(smallest[at], part.min[some])
        greatest[at] = np.fmax(greatest[at], part.max[some])
        count[at] = both
    with np.errstate(all="ignore"):
        known = (count > 1) & np.isfinite(mean)  # the distance from an infinite mean is not a number
        std = np.where(known, spread / np.sqrt(np.maximum(count - 1, 1)), np.nan)
    return Moments(step, count, np.where(count > 0, mean, np.nan), std, smallest, greatest)


def quartiles(runs: Runs) -> Floats:
    """The quartiles of the values of some runs at each step, 3 × steps.

    >>> quartiles([(np.array([0, 1]), np.array([1.0, 5.0])), (np.array([0]), np.array([3.0]))])
    array([[1.5, 5. ],
           [2. , 5. ],
           [2.5, 5. ]])
    """
    names = ("q25", "median", "q75")
    rows = _aligned(runs)
    if rows is not None:
        return np.array([STATS[name](rows) for name in names])
    table = _reduced(_table(runs), names)
    return np.array([np.asarray(table[name].to_numpy(), np.float64) for name in names])


def _aligned(runs: Runs) -> Aligned | None:
    """Runs usually have the same steps, and need no table then."""
    runs = [each for each in runs if len(each[0])]
    return aligned_runs(runs) if runs else None


def _reduced(scalars: pa.Table, stats: Sequence[str]) -> pa.Table:
    names = scalars.column("run").unique().to_pylist()
    return reduce(scalars, dict.fromkeys(names, ""), stats)


def _table(runs: Runs) -> pa.Table:
    """The steps and values of some runs as scalars of one tag."""
    codes = np.repeat(np.arange(len(runs), dtype=np.int32), [len(steps) for steps, _ in runs])

    def label(codes: Any, names: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string()))

    return pa.table(
        {
            "run": label(codes, [str(i) for i in range(len(runs))]),
            "tag": label(np.zeros(len(codes), np.int32), [""]),
            "step": np.concatenate([np.zeros(0, np.int64), *(steps for steps, _ in runs)]),
            "value": pa.array(
                np.concatenate([np.zeros(0), *(values for _, values in runs)]), from_pandas=False
            ),
        }
    )
