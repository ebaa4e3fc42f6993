"""Decodes the counts and moments that a device computed, and encodes them as a histogram."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.write import histogram

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class Tally(NamedTuple):
    """Counts and moments of the numbers of a tensor."""

    counts: Array  # of the default bins
    low: float
    high: float
    total: float
    squares: float
    zeros: int
    nonfinite: int


@cache
def edges() -> Array:
    """The edges that numbers are compared with: the default edges, and more that separate zeros and infinities.

    The last default edge is moved up, because the last bin includes it.
    """
    import numpy as np

    default = histogram.default_edges()
    largest = np.finfo(np.float64).max
    last = np.nextafter(default[-1], np.inf)
    zero = _zero()
    smallest = 5e-324
    return np.concatenate(
        [[-largest], default[: zero + 1], [smallest], default[zero + 1 : -1], [last, np.inf]]
    )


@cache
def edges_float32() -> Array:
    """The same edges, each rounded up to a float32: a float32 compares the same with both."""
    import numpy as np

    wanted = edges()
    with np.errstate(over="ignore"):
        rounded = wanted.astype(np.float32)
    return np.where(rounded < wanted, np.nextafter(rounded, np.float32(np.inf)), rounded)


@cache
def _zero() -> int:
    """The index of 0 among the default edges."""
    return int(histogram.default_edges().tolist().index(0.0))


def tally(results: Array) -> Tally:
    """Decode a vector from a device: the counts between `edges`, then the moments."""
    import numpy as np

    bins = len(edges()) + 1
    counts = results[:bins].astype(np.int64)
    moments = [x if x == x else float("nan") for x in results[bins:].tolist()]  # one NaN, not a device's own
    nonfinite = int(counts[0] + counts[-1])
    inner, zero = counts[2:-2], _zero()
    zeros = int(inner[zero])
    joined = np.delete(inner, zero)
    joined[zero] += zeros
    if len(moments) == 4:
        low, high, total, squares = moments
    else:
        low, high, norm, *sums = moments
        # For each piece: the sum of the positive numbers, and the sum of absolute values. With infinities, these cannot
        # give the total, but the smallest and largest number do.
        total = low + high if nonfinite else 2 * sum(sums[::2]) - sum(sums[1::2])
        squares = norm * norm
    return Tally(joined, low, high, total, squares, zeros, nonfinite)


def encode(known: Tally, count: int, max_bins: int | None, argument: str) -> bytes:
    """A HistogramProto of a tally."""
    moments = (known.low, known.high, count, known.total, known.squares)
    return histogram.finished(known.counts, histogram.default_edges(), moments, max_bins, argument)
