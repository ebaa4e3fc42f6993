"""Histograms: buckets as logged, quantiles, densities, and NumPy's form."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError
from tbq.table.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Histogram:
    """Buckets with edges `left` and `right` and a count of values, which lie evenly inside a bucket.

    >>> import numpy as np
    >>> h = Histogram(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    >>> h
    <tbq.Histogram: 4 values in 2 buckets, from 0 to 3, median 1>
    >>> h.quantiles([0, 0.5, 0.75, 1]).tolist()
    [0.0, 1.0, 2.0, 3.0]
    >>> h.density()[0].tolist()
    [0.5, 0.25]
    >>> counts, edges = h.numpy()
    >>> edges.tolist()
    [0.0, 1.0, 3.0]
    """

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    count: NDArray[np.float64]

    def __repr__(self) -> str:
        if not len(self.count):
            return "<tbq.Histogram: empty>"
        low, middle, high = self.quantiles([0.0, 0.5, 1.0])
        return (
            f"<tbq.Histogram: {self.total:g} values in {len(self.count):,} buckets, "
            f"from {low:.6g} to {high:.6g}, median {middle:.6g}>"
        )

    @property
    def total(self) -> float:
        """The number of values.

        >>> log.histogram("weights/layer1").total
        1000.0
        """
        import numpy as np

        with np.errstate(all="ignore"):
            return float(self.count.sum())

    def numpy(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """`(counts, edges)` as from `numpy.histogram`; gaps between buckets become empty buckets.

        >>> counts, edges = log.histogram("weights/layer1").numpy()
        >>> len(edges) - len(counts)
        1
        """
        import numpy as np

        if not len(self.count):
            return np.zeros(0), np.zeros(1)
        gaps = np.flatnonzero(self.right[:-1] != self.left[1:])
        counts = np.insert(self.count, gaps + 1, 0.0)
        edges = np.insert(np.append(self.left, self.right[-1]), gaps + 1, self.right[gaps])
        return counts, edges

    def evenly(self, buckets: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """`(counts, edges)` of this many buckets of equal width, from the first edge to the last.

        >>> import numpy as np
        >>> Histogram(np.array([0.0]), np.array([4.0]), np.array([8.0])).evenly(2)[0].tolist()
        [4.0, 4.0]
        """
        import numpy as np

        edges = self.numpy()[1]
        with np.errstate(invalid="ignore"):
            even = edges[0] * np.linspace(1, 0, buckets + 1) + edges[-1] * np.linspace(0, 1, buckets + 1)
        counts = self.over(even)
        return counts, even

    def over(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        """The number of values between each pair of neighbouring edges, which must ascend.

        >>> import numpy as np
        >>> h = Histogram(np.array([0.0]), np.array([2.0]), np.array([4.0]))
        >>> h.over(np.array([-1.0, 0.5, 1.0, 5.0])).tolist()
        [1.0, 1.0, 2.0]
        """
        import numpy as np

        counts, own = self.numpy()
        counts = _weights(counts)
        total = counts.sum() or 1.0
        with np.errstate(over="ignore", invalid="ignore"):  # a bucket may be too narrow for a slope
            below = np.interp(edges, own, np.concatenate([[0.0], np.cumsum(counts / total)]))
        below = np.maximum.accumulate(np.nan_to_num(np.clip(below, 0.0, 1.0)))
        if edges[0] <= own[0]:  # even if the first or the last bucket has no width
            below[0] = 0.0
        if edges[-1] >= own[-1]:
            below[-1] = counts.sum() / total
        return np.asarray(np.clip(np.diff(below), 0.0, None) * total, np.float64)

    def density(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """`(density, edges)`: each bucket's share of the values divided by its width; the integral is 1.

        A bucket with values but without width is infinitely dense.

        >>> import numpy as np
        >>> Histogram(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([2.0, 2.0])).density()[0].tolist()
        [0.5, 0.25]
        """
        import numpy as np

        counts, edges = self.numpy()
        weights = _weights(counts)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            widths = np.diff(edges)
            dense = weights / weights.sum() / widths
        return np.where(weights > 0, dense, 0.0), edges

    def quantiles(self, q: Sequence[float] | float) -> NDArray[np.float64]:
        """The values below which the fractions `q` of all values lie.

        >>> import numpy as np
        >>> Histogram(np.array([0.0]), np.array([4.0]), np.array([8.0])).quantiles([0.5]).tolist()
        [2.0]
        """
        import numpy as np

        fractions = np.atleast_1d(np.asarray(q, np.float64))
        if ((fractions < 0) | (fractions > 1)).any():
            raise UsageError(f"quantiles: got {q!r}, want fractions from 0 to 1")
        weights = _weights(self.count)
        full = np.flatnonzero(weights > 0)
        if not len(full):
            return np.full(len(fractions), np.nan)
        left, right, count = self.left[full], self.right[full], weights[full]
        ends = np.cumsum(count)
        target = fractions * ends[-1]
        bucket = np.minimum(np.searchsorted(ends, target, side="left"), len(full) - 1)
        inside = np.clip((target - (ends[bucket] - count[bucket])) / count[bucket], 0, 1)
        low, high = left[bucket], right[bucket]
        # Not low + (high - low) * inside, which may overflow; clipped, because rounding may cross an edge.
        # With an infinite end there is no interpolation: the quantile is the edge itself.
        with np.errstate(all="ignore"):
            between = np.where(
                inside <= 0, low, np.where(inside >= 1, high, low * (1 - inside) + high * inside)
            )
            return np.asarray(np.clip(between, low, high))


def _weights(count: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts that can be summed. A bucket of infinitely many values outweighs all finite ones; NaN and negative counts
    are empty.
    """
    import numpy as np

    positive = np.where(count > 0, count, 0.0)  # false for NaN
    if np.isinf(positive).any():
        return np.isinf(positive).astype(np.float64)
    with np.errstate(over="ignore"):
        return positive if np.isfinite(positive.sum()) else positive / positive.max()


_LARGEST = 1e307


def solid(histogram: Histogram) -> Histogram | None:
    """The buckets with values and drawable ends; None without any."""
    import numpy as np

    full = (histogram.count > 0) & np.isfinite(histogram.count)
    full &= (np.abs(histogram.left) < _LARGEST) & (np.abs(histogram.right) < _LARGEST)  # false for NaN
    if not full.any():
        return None
    return Histogram(histogram.left[full], histogram.right[full], histogram.count[full])


def shared_edges(histograms: Sequence[Histogram], buckets: int) -> NDArray[np.float64]:
    """Edges of this many buckets of equal width that cover all of these (`solid`) histograms."""
    import numpy as np

    low = min(float(each.left[0]) for each in histograms)
    high = max(float(each.right[-1]) for each in histograms)
    if not low < high:
        space = abs(low) * 0.05 or 0.5
        low, high = low - space, high + space
    return np.asarray(low + (high - low) * np.linspace(0, 1, buckets + 1), np.float64)


class HistogramTable(Table):
    """The `histograms` table, with each row as a `Histogram` and quantiles as columns."""

    def histogram(self, row: int) -> Histogram:
        """One row; a histogram without buckets if they could not be decoded.

        >>> log.histograms().histogram(0).total
        1000.0
        """
        import numpy as np

        values = self.to_arrow().slice(self._row(row), 1)
        return Histogram(
            *(np.asarray(values[name][0].as_py() or (), np.float64) for name in ("left", "right", "count"))
        )

    def quantiles(self, q: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0)) -> Table:
        """One row per histogram: `run, tag, step, wall_time` and one column per quantile, `q0.5`.

        >>> log.histograms().quantiles([0.25, 0.5]).columns
        ['run', 'tag', 'step', 'wall_time', 'q0.25', 'q0.5']
        """
        import numpy as np
        import pyarrow as pa

        arrow = self.to_arrow()
        quantiles = np.empty((len(arrow), len(q)))
        at = 0
        for batch in arrow.select(["left", "right", "count"]).to_batches():
            lists = [_lists(column) for column in batch.columns]
            for row in zip(*lists, strict=True):
                quantiles[at] = Histogram(*row).quantiles(q)
                at += 1
        table = arrow.select(["run", "tag", "step", "wall_time"])
        for i, name in enumerate(q):
            table = table.append_column(f"q{name:g}", pa.array(quantiles[:, i]))
        return Table(table, "quantiles", logdir=self.logdir, began=self.began)


def _lists(column: Any) -> list[NDArray[np.float64]]:
    """The lists of an Arrow array as NumPy arrays; null becomes an empty array."""
    values = column.values.to_numpy()
    offsets = column.offsets.to_numpy()
    return [values[a:b] for a, b in itertools.pairwise(offsets)]


def bars(histogram: Histogram, width: int = 40, rows: int = 30) -> str:
    """The histogram as lines of text, one bar per bucket; more than `rows` buckets become fewer of equal width.

    >>> import numpy as np
    >>> h = Histogram(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    >>> print(bars(h, width=4))
    0 … 1  ██    1
    1 … 2  ████  2
    """

    counts, edges = histogram.numpy()
    if not len(counts):
        return "(empty)"
    if len(counts) > rows:
        counts, edges = histogram.evenly(rows // 2)
    weights = _weights(counts)
    most = weights.max() or 1.0
    labels = [f"{a:.4g} … {b:.4g}" for a, b in itertools.pairwise(edges)]
    wide = max(map(len, labels))
    lines = []
    for label, count, weight in zip(labels, counts, weights, strict=True):
        eighths = round(weight / most * width * 8)
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        lines.append(f"{label:>{wide}}  {bar:<{width}}  {count:.6g}")
    return "\n".join(lines)
