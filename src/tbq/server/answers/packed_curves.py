"""Packs many curves into few bytes, exact to a fraction of a pixel.

1,000 curves of 800 columns are 12.8 MB as 32-bit floats, and about 2 MB packed and compressed. Each column has four
values. The smallest becomes a code on an asinh scale, which is linear in the range of most values and logarithmic far
from it. The largest is stored as the distance of its code from that code; first and last as fifteenths of the way
between the two. Codes are stored as differences along the curve, with low and high bytes apart, which compresses well.
On a logarithmic axis, values that are not positive get the lowest code, which stands for 0. `static/packed.js` unpacks.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LEVELS = 2048  # codes over the range of 98 % of all values
_HALF = 30_000  # codes on each side of the middle
_NOT_POSITIVE = -_HALF - 2  # the code of values that are not positive, on a logarithmic axis
_WAYS = 15  # steps between the smallest and the largest value
_FURTHEST = 1e60  # limit of the distance of the furthest value, in spreads; diverged runs reach 1e38
_SAFE = 1e30  # spreads that 32-bit floats can represent


class Scale(NamedTuple):
    """code = round(asinh((value - middle) / spread) / step), of the logarithm of the value if `log`."""

    middle: float
    spread: float
    step: float
    log: bool
    kind: type[np.floating[Any]]  # of the computation

    @classmethod
    def of(cls, least: Floats, largest: Floats, log: bool) -> Scale:
        """The scale for these finite values."""
        every = least.size // 50_000 + 1  # some of the values suffice for quantiles
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
        # Halves: the difference of two finite numbers may overflow.
        usual = min(2 * (q_high / 2 - q_low / 2), sys.float_info.max)
        # Without outliers, the picture shows only the usual values, so these decide, however far the outliers are.
        least_spread = furthest / _FURTHEST if usual > 0 else furthest * 1e-12
        spread = max(usual, least_spread, abs(middle) * 1e-12, 1e-300)
        # In the middle, one code spans spread × step; far from it, it spans that share of the distance.
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
    """The columns of a frame, and the facts for its header. The arguments are arrays of series × width."""
    has_points = np.isfinite(least) & np.isfinite(largest)
    every = bool(has_points.all())
    # From here on, arrays are flat and have only the columns with points.
    first, last, least, largest = (
        part.ravel() if every else part[has_points] for part in (first, last, least, largest)
    )
    scale = Scale.of(least, largest, log)
    low = scale.codes(least)
    distance = scale.codes(largest) - low
    ends = [_way(scale, part, least, largest, low, distance) for part in (first, last)]
    counts = np.count_nonzero(has_points, axis=1)
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
        columns["there"] = np.packbits(has_points, axis=None)
    if signed.size and int(signed.max()) >> 16:  # a jump from one end of a very long scale to the other
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
    """The position of a value between the smallest and the largest, in fifteenths."""
    with np.errstate(all="ignore"):
        if scale.log:
            share: NDArray[Any] = (scale.codes(part) - low).astype(np.float32) / distance.astype(np.float32)
            # Between zero and a positive value there is no scale: the value is one or the other.
            share = np.where(low == _NOT_POSITIVE, part > 0, share)
        else:
            share = (part / 2 - least / 2) / (largest / 2 - least / 2)  # halves, as above
        way = np.rint(share * _WAYS)
    return np.clip(np.where(np.isfinite(way), way, 0), 0, _WAYS).astype(np.uint8)
