"""Many curves in few bytes: what a screen can show of them, to a small part of a pixel.

1,000 curves of 800 columns are 12.8 MB as 32-bit floats. Packed they are below 3 MB. The least value of each column is
kept on a scale that is even where most values are and stretches far from there (asinh), the largest as its distance
from it, first and last as fifteenths of the way between the two. Codes are differences along the curve, low bytes and
high bytes apart, which gzip makes small. On a logarithmic axis what is not positive has the lowest code of all, which
stands for 0. `static/packed.js` is the other side.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LEVELS = 2048  # over the range in which 98 % of all values are
_HALF = 30_000  # codes on each side of the middle
_NOT_POSITIVE = -_HALF - 2  # the code of what a logarithmic axis does not have
_WAYS = 15  # steps between least and largest
_FURTHEST = 1e60  # spreads from the middle to the furthest value; diverged runs have 1e38
_SAFE = 1e30  # spreads that 32-bit floats count


class Scale(NamedTuple):
    """code = round(asinh((value - middle) / spread) / step); the value before is its logarithm if `log`."""

    middle: float
    spread: float
    step: float
    log: bool
    kind: type[np.floating[Any]]  # that counts the spreads

    @classmethod
    def of(cls, least: Floats, largest: Floats, log: bool) -> Scale:
        """The scale for these finite values."""
        every = least.size // 50_000 + 1  # a scale needs no better quantiles than some of the values give
        some = [_level(values[::every], log) for values in (least, largest)]
        low, high = (values[np.isfinite(values)] for values in some)
        if log:
            least, largest = least[least > 0], largest[largest > 0]
        if not (least.size and largest.size):
            return cls(0.0, 1.0, 1.0 / _HALF, log, np.float32)
        bottom, top = _level(np.array([least.min(), largest.max()]), log).tolist()
        q_low = float(np.quantile(low, 0.01)) if len(low) else bottom
        q_high = float(np.quantile(high, 0.99)) if len(high) else top
        middle = q_low / 2 + q_high / 2
        furthest = max(top - middle, middle - bottom)
        # Halves, since the span of two finite numbers may be infinite.
        usual = min(2 * (q_high / 2 - q_low / 2), sys.float_info.max)
        # Those who leave outliers out of the picture look at the usual values alone, however far the others are.
        least_spread = furthest / _FURTHEST if usual > 0 else furthest * 1e-12
        spread = max(usual, least_spread, abs(middle) * 1e-12, 1e-300)
        # The distance that a code spans in the middle is spread × step; far away it is that share of the distance.
        step = max(1.0 / _LEVELS, float(np.arcsinh(furthest / spread)) / _HALF)
        return cls(middle, spread, step, log, np.float32 if furthest / spread < _SAFE else np.float64)

    def codes(self, values: Floats) -> NDArray[np.int32]:
        """The codes of finite values."""
        with np.errstate(all="ignore"):
            level = ((_level(values, self.log) - self.middle) / self.spread).astype(self.kind)
            code = np.clip(np.rint(np.arcsinh(level) / self.kind(self.step)), -_HALF - 1, _HALF + 1)
        if self.log:
            code = np.where(values > 0, code, _NOT_POSITIVE)
        codes: NDArray[np.int32] = code.astype(np.int32)
        return codes


def _level(values: Floats, log: bool) -> Floats:
    if not log:
        return values
    with np.errstate(all="ignore"):
        return np.where(values > 0, np.log10(values), np.nan)


def pack(
    first: Floats, last: Floats, least: Floats, largest: Floats, log: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The columns of a frame, and what its header says of them; all are series × width."""
    there = np.isfinite(least) & np.isfinite(largest)
    every = bool(there.all())
    # From here on all are flat, and of the columns that have points alone.
    first, last, least, largest = (
        part.ravel() if every else part[there] for part in (first, last, least, largest)
    )
    scale = Scale.of(least, largest, log)
    low = scale.codes(least)
    distance = scale.codes(largest) - low
    ends = [_way(scale, part, least, largest, low, distance) for part in (first, last)]
    counts = np.count_nonzero(there, axis=1)
    starts = (np.cumsum(counts) - counts)[counts > 0]
    steps = np.diff(low, prepend=low[:1])  # along each curve
    steps[starts] = low[starts]
    signed = ((steps << 1) ^ (steps >> 31)).astype(
        np.uint32
    )  # small numbers for small differences of either sign
    columns: dict[str, NDArray[Any]] = {
        "low": (signed & 255).astype(np.uint8),
        "low2": (signed >> 8 & 255).astype(np.uint8),
        "span": (distance & 255).astype(np.uint8),
        "span2": (distance >> 8).astype(np.uint8),
        "ends": ends[0] << 4 | ends[1],
    }
    if not every:
        columns["there"] = np.packbits(there, axis=None)
    if signed.size and int(signed.max()) >> 16:  # from one end of a very long scale to the other
        columns["low3"] = (signed >> 16).astype(np.uint8)
    facts = {"middle": scale.middle, "spread": scale.spread, "step": scale.step, "log": log, "ways": _WAYS}
    return columns, facts


def _way(
    scale: Scale,
    part: Floats,
    least: Floats,
    largest: Floats,
    low: NDArray[np.int32],
    distance: NDArray[np.int32],
) -> NDArray[np.uint8]:
    """How far between least and largest a value is, in fifteenths."""
    with np.errstate(all="ignore"):
        if scale.log:
            share: NDArray[Any] = (scale.codes(part) - low).astype(np.float32) / distance.astype(np.float32)
            # Nothing and a value have nothing between them: it is one or the other.
            share = np.where(low == _NOT_POSITIVE, part > 0, share)
        else:
            share = (part / 2 - least / 2) / (largest / 2 - least / 2)  # halves, as above
        way = np.rint(share * _WAYS)
    return np.clip(np.where(np.isfinite(way), way, 0), 0, _WAYS).astype(np.uint8)
