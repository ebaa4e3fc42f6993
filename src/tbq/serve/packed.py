"""Many curves in few bytes: what a screen can show of them, to a small part of a pixel.

1,000 curves of 800 columns are 12.8 MB as 32-bit floats. Packed they are below 3 MB. The least value of each column is
kept on a scale that is even where most values are and stretches far from there (asinh), the largest as its distance
from it, first and last as fifteenths of the way between the two. Codes are differences along the curve, low bytes and
high bytes apart, which gzip makes small. `static/packed.js` is the other side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LEVELS = 2048  # over the range in which 98 % of all values are
_HALF = 30_000  # codes on each side of the middle
_WAYS = 15  # steps between least and largest


class Scale(NamedTuple):
    """code = round(asinh((value - middle) / spread) / step); the value before is its logarithm if `log`."""

    middle: float
    spread: float
    step: float
    log: bool

    @classmethod
    def of(cls, least: Floats, largest: Floats, log: bool) -> Scale:
        """The scale for these values; those that are NaN do not count."""
        low, high = (values[np.isfinite(values)] for values in (_level(least, log), _level(largest, log)))
        if not len(low):
            return cls(0.0, 1.0, 1.0 / _HALF, log)
        every = len(low) // 50_000 + 1  # a scale needs no better quantiles than some of the values give
        q_low, q_high = float(np.quantile(low[::every], 0.01)), float(np.quantile(high[::every], 0.99))
        middle = q_low / 2 + q_high / 2
        furthest = max(float(high.max()) - middle, middle - float(low.min()))
        spread = max(q_high - q_low, furthest * 1e-12, abs(middle) * 1e-12, 1e-300)
        # The distance that a code spans in the middle is spread × step; far away it is that share of the distance.
        step = max(1.0 / _LEVELS, float(np.arcsinh(min(furthest / spread, 1e300))) / _HALF)
        return cls(middle, spread, step, log)

    def codes(self, values: Floats) -> NDArray[np.int32]:
        """The codes of values; those of NaN mean nothing."""
        with np.errstate(all="ignore"):
            level = (_level(values, self.log) - self.middle) / self.spread
            code = np.rint(np.arcsinh(level) / self.step)
        return np.where(np.isfinite(code), np.clip(code, -_HALF - 1, _HALF + 1), 0).astype(np.int32)


def _level(values: Floats, log: bool) -> Floats:
    if not log:
        return values
    with np.errstate(all="ignore"):
        return np.where(values > 0, np.log10(values), np.nan)


def pack(
    first: Floats, last: Floats, least: Floats, largest: Floats, log: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The columns of a frame, and what its header says of them; all are series × width."""
    there = np.isfinite(least)
    if log:
        there &= least > 0
    scale = Scale.of(np.where(there, least, np.nan), np.where(there, largest, np.nan), log)
    low, high = scale.codes(least), scale.codes(largest)
    with np.errstate(all="ignore"):
        span = largest - least
        ways = [
            np.where(span > 0, np.rint((part - least) / span * _WAYS), 0) if log is False else
            np.where(high > low, np.rint((scale.codes(part) - low) / np.maximum(high - low, 1) * _WAYS), 0)
            for part in (first, last)
        ]  # fmt: skip
    ends = [np.where(there & np.isfinite(way), np.clip(way, 0, _WAYS), 0).astype(np.uint8) for way in ways]
    codes = low[there]
    # Differences along each curve, over columns that have points.
    start = np.zeros(there.shape, bool)
    start[np.arange(len(there)), there.argmax(axis=1)] = True
    steps = np.diff(codes, prepend=0)
    steps[start[there]] = codes[start[there]]
    distance = (high - low)[there]
    signed = ((steps << 1) ^ (steps >> 31)).astype(
        np.uint32
    )  # small numbers for small differences of either sign
    columns: dict[str, NDArray[Any]] = {
        "there": np.packbits(there, axis=None),
        "low": (signed & 255).astype(np.uint8),
        "low2": (signed >> 8 & 255).astype(np.uint8),
        "low3": (signed >> 16).astype(np.uint8),
        "span": (distance & 255).astype(np.uint8),
        "span2": (distance >> 8).astype(np.uint8),
        "ends": (ends[0] << 4 | ends[1])[there],
    }
    facts = {"middle": scale.middle, "spread": scale.spread, "step": scale.step, "log": log, "ways": _WAYS}
    return columns, facts
