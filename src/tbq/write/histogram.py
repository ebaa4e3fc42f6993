"""Histograms: torch's bins, counted natively, or any bins of NumPy."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tbq import _core, wire
from tbq.arguments import described
from tbq.write.arguments import as_array, as_number, bad, real

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


@cache
def default_edges() -> Array:
    """The edges of the default bins: powers of 1.1 from 1e-12 to 1e20, their negatives, and 0."""
    import numpy as np

    return np.frombuffer(_core.default_bin_edges(), dtype=np.float64)


def encode(values: Any, bins: Any, max_bins: int | None, argument: str = "values") -> bytes:
    """A HistogramProto of all values."""
    import numpy as np

    array = real(as_array(values, argument), argument).reshape(-1)
    if array.size == 0:
        raise bad(argument, "has no element", hint="a histogram needs at least one value")
    if isinstance(bins, str) and bins == "tensorflow":
        if array.dtype == np.float32:
            counted = _core.default_histogram_f32(np.ascontiguousarray(array))
        else:
            counted = _core.default_histogram_f64(np.ascontiguousarray(array, dtype=np.float64))
        low, high, total, squares, packed = counted
        counts, limits = np.frombuffer(packed, dtype=np.int64), default_edges()
    else:
        array = array.astype(np.float64)
        try:
            counts, limits = np.histogram(array, bins=bins)
        except (ValueError, TypeError) as error:
            raise bad("bins", f"got {described(bins)}: {error}") from None
        low, high = float(array.min()), float(array.max())
        total, squares = float(array.sum()), float(array.dot(array))
    return finished(counts, limits, (low, high, array.size, total, squares), max_bins, argument)


def finished(
    counts: Array,
    limits: Array,
    moments: tuple[float, float, float, float, float],
    max_bins: int | None,
    argument: str,
) -> bytes:
    """A HistogramProto of counts in bins, and of min, max, number, sum and sum of squares."""
    counts, limits = _fewer(counts, limits, max_bins)
    counts, limits = _support(counts, limits, argument)
    return raw(*moments, limits, counts)


def check_max_bins(max_bins: object) -> None:
    """Raise if `max_bins` is not a number of bins, or None."""
    if max_bins is not None and (not isinstance(max_bins, int) or max_bins < 1):
        raise bad("max_bins", f"got {described(max_bins)}, want a number of bins")


def _fewer(counts: Array, limits: Array, max_bins: int | None) -> tuple[Array, Array]:
    """Join neighbouring bins until about `max_bins` are left, as torch does."""
    import numpy as np

    check_max_bins(max_bins)
    if max_bins is None or len(counts) <= max_bins:
        return counts, limits
    joined = len(counts) // max_bins
    rest = len(counts) % joined
    if rest:
        counts = np.pad(counts, (0, joined - rest))
    counts = counts.reshape(-1, joined).sum(axis=-1)
    return counts, np.append(limits[:-1:joined], limits[-1])


def _support(counts: Array, limits: Array, argument: str) -> tuple[Array, Array]:
    """The bins from the first to the last with a value, after an empty bin for the left edge."""
    import numpy as np

    used = np.flatnonzero(counts)
    if used.size == 0:
        raise bad(argument, "has no value inside the bins", hint="are all of them NaN or infinite?")
    start, end = int(used[0]), int(used[-1]) + 1
    counts = counts[start - 1 : end] if start > 0 else np.concatenate([[0], counts[:end]])
    return counts, limits[start : end + 1]


def raw(low: float, high: float, num: float, total: float, squares: float, limits: Any, counts: Any) -> bytes:
    """A HistogramProto of counts that are already known."""
    import numpy as np

    limits, counts = np.asarray(limits), np.asarray(counts)
    head = b"".join(wire.double(i, float(x)) for i, x in enumerate((low, high, num, total, squares), start=1))
    return head + wire.text(6, limits.astype("<f8").tobytes()) + wire.text(7, counts.astype("<f8").tobytes())


def encode_raw(
    low: Any, high: Any, num: Any, total: Any, squares: Any, bucket_limits: Any, bucket_counts: Any
) -> bytes:
    """A HistogramProto of `add_histogram_raw`'s arguments."""
    limits = real(as_array(bucket_limits, "bucket_limits"), "bucket_limits").reshape(-1)
    counts = real(as_array(bucket_counts, "bucket_counts"), "bucket_counts").reshape(-1)
    if len(limits) != len(counts):
        raise bad(
            "bucket_counts",
            f"got {len(counts)} counts and {len(limits)} bucket_limits, want the same number",
            hint="np.histogram returns one more edge: pass limits[1:]",
        )
    names = ("min", "max", "num", "sum", "sum_squares")
    a, b, c, d, e = (
        as_number(x, name) for x, name in zip((low, high, num, total, squares), names, strict=True)
    )
    return raw(a, b, c, d, e, limits, counts)
