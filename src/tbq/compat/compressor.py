"""Histograms at a few basis points: TensorBoard's distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

#: Basis points of -1.5 to 1.5 standard deviations of a normal distribution, in steps of a half, and both ends.
NORMAL_HISTOGRAM_BPS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)


class HistogramLike(Protocol):
    """A `HistogramValue` or a HistogramProto."""

    @property
    def min(self) -> float: ...
    @property
    def max(self) -> float: ...
    @property
    def num(self) -> float: ...
    @property
    def bucket_limit(self) -> Sequence[float]: ...
    @property
    def bucket(self) -> Sequence[float]: ...


def compress_histogram_proto(
    histogram: HistogramLike, bps: Sequence[float] = NORMAL_HISTOGRAM_BPS
) -> list[tuple[float, Any]]:
    """The value at each basis point, interpolated linearly inside its bucket."""
    if not histogram.num:
        return [(bp, 0.0) for bp in bps]
    counts = np.array(histogram.bucket)
    limits = list(histogram.bucket_limit)
    weights = (counts * bps[-1] / (counts.sum() or 1.0)).cumsum()
    values: list[tuple[float, Any]] = []
    for bp in bps:
        bucket = int(np.searchsorted(weights, bp, side="right"))
        # Skip empty buckets: there is no weight to interpolate over.
        while bucket < len(weights) and weights[bucket] == _before(weights, bucket):
            bucket += 1
        if bucket >= len(weights):
            break
        before = _before(weights, bucket)
        left = histogram.min if not bucket or not before else max(limits[bucket - 1], histogram.min)
        right = min(limits[bucket], histogram.max)
        values.append((bp, left + (bp - before) * float(right - left) / (weights[bucket] - before)))
    values += [(bp, histogram.max) for bp in bps[len(values) :]]
    return values


def _before(weights: np.ndarray[Any, Any], bucket: int) -> Any:
    return weights[bucket - 1] if bucket > 0 else 0.0
