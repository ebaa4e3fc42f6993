"""Ticks where people would put them: at 1, 2 and 5 times a power of ten, and at whole minutes, hours and days."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Iterator, Sequence

from tbq.numbers import compact, duration

_LARGEST = sys.float_info.max
_WIDE = 6  # characters of a label beside an axis
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_TIMES = (
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE,
    _HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY,
)  # fmt: skip


def step_size(span: float, most: int) -> float:
    """The least distance of 1, 2 or 5 times a power of ten that puts at most `most` ticks into a span.

    >>> step_size(10, 6), step_size(0.7, 4), step_size(1204, 5)
    (2.0, 0.2, 500.0)
    """
    if not 0 < span < math.inf:
        return 1.0
    return next(size for size in _sizes(span, most) if _fits(span, size, most))


def linear(low: float, high: float, most: int) -> list[float]:
    """At most `most` ticks from low to high.

    >>> linear(0.03, 2.1, 5)
    [0.5, 1.0, 1.5, 2.0]
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high < low:
        return []
    if high == low:
        return [low]
    if not math.isfinite(high - low):
        return [low, high]
    for size in _sizes(high - low, most):
        ticks = _multiples(low, high, size)
        if len(ticks) <= most:
            return ticks
    return []


def logarithmic(low: float, high: float, most: int) -> list[float]:
    """At most `most` ticks on a log axis: powers of ten, with 2 and 5 between them if there is room.

    >>> logarithmic(0.02, 300, 5), logarithmic(1, 8, 4), logarithmic(3, 4, 4)
    ([0.1, 1.0, 10.0, 100.0], [1.0, 2.0, 5.0], [3.0, 3.5, 4.0])
    """
    if not 0 < low <= high < math.inf:
        return []
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{factor}e{power}") for power in range(first, last + 1) for factor in factors]
        ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= min(high * (1 + 1e-9), _LARGEST)]
        if len(ticks) <= most:
            return ticks if len(ticks) > 1 else linear(low, high, most)
    every = -(-len(ticks) // max(most, 1))
    return [tick for tick in ticks if round(math.log10(tick)) % every == 0]


def times(low: float, high: float, most: int, offset: float = 0.0) -> list[float]:
    """Ticks at whole seconds, minutes, hours or days; `offset` is that of local time.

    >>> times(0, 8000, 4)
    [0.0, 3600.0, 7200.0]
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high < low:
        return []
    span = high - low
    if _fits(span, 0.5, most):
        return linear(low, high, most)
    size = next((size for size in _TIMES if _fits(span, size, most)), 0.0)
    if not size:
        size = step_size(span / _DAY, most) * _DAY
    return [tick - offset for tick in _multiples(low + offset, high + offset, size)]


def labels(ticks: Sequence[float]) -> list[str]:
    """Ticks of an axis of values as text, all with the same number of decimals; different ticks are different texts.

    >>> labels([0.0, 0.5, 1.0]), labels([1e-06, 2e-06]), labels([0.0, 20_000.0])
    (['0.0', '0.5', '1.0'], ['1e-06', '2e-06'], ['0', '20k'])
    >>> labels([0.00095, 0.001])
    ['9.5e-4', '1e-3']
    >>> labels([1.7e9, 1.7e9 + 0.5]), labels([1.0, 1 + 5e-10])
    (['1,700,000,000.0', '1,700,000,000.5'], ['1.0000000000', '1.0000000005'])
    """
    texts, different = _short_labels(ticks), len(set(ticks))
    if len(set(texts)) == different:
        return texts
    distance = min(b - a for a, b in zip(ticks, ticks[1:], strict=False) if b > a)
    if distance > 1e-15 and max(map(abs, ticks)) < 1e15:
        decimals = max(0, -math.floor(math.log10(distance) + 1e-9))
        return [f"{tick:,.{decimals}f}" for tick in ticks]
    for digits in range(4, 18):
        texts = [f"{tick:.{digits}g}" for tick in ticks]
        if len(set(texts)) == different:
            break
    return texts


def _short_labels(ticks: Sequence[float]) -> list[str]:
    largest = max(map(abs, ticks), default=0.0)
    distance = min((b - a for a, b in zip(ticks, ticks[1:], strict=False) if b > a), default=largest)
    if largest >= 10_000 and distance >= largest / 1000:
        return [compact(tick) for tick in ticks]
    if largest >= 1e9 or (0 < largest < 1e-3):
        return [f"{tick:.3g}" for tick in ticks]
    decimals = 0
    while decimals < 15 and any(abs(tick - round(tick, decimals)) > distance * 1e-3 for tick in ticks):
        decimals += 1
    texts = [f"{tick:.{decimals}f}" for tick in ticks]
    if largest < 0.1 and max(map(len, texts), default=0) > _WIDE:
        return [_scientific(tick) for tick in ticks]
    return texts


def _scientific(value: float) -> str:
    if not value:
        return "0"
    mantissa, _, exponent = f"{value:.3e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def log_labels(ticks: Sequence[float]) -> list[str]:
    """Ticks of a log axis as text, each as short as it can be.

    >>> log_labels([0.001, 0.1, 1.0, 20_000.0])
    ['0.001', '0.1', '1', '20k']
    """
    return [compact(tick) if abs(tick) >= 1000 else f"{tick:.3g}" for tick in ticks]


def time_labels(ticks: Sequence[float]) -> list[str]:
    """Ticks of an axis of seconds since the start as text.

    >>> time_labels([0.0, 1800.0, 3600.0, 5400.0])
    ['0s', '30m', '1h', '1h 30m']
    """
    if any(tick != int(tick) for tick in ticks):
        return [f"{tick:g}s" for tick in ticks]
    return [duration(tick) for tick in ticks]


def clock_labels(ticks: Sequence[float]) -> list[str]:
    """Ticks of an axis of wall times as local times, or as dates if they are days apart."""
    distance = min((b - a for a, b in zip(ticks, ticks[1:], strict=False)), default=_DAY)
    form = "%m-%d" if distance >= _DAY else "%H:%M" if distance >= _MINUTE else "%H:%M:%S"
    out = []
    for tick in ticks:
        try:
            out.append(datetime.datetime.fromtimestamp(tick).strftime(form))
        except (OverflowError, OSError, ValueError):  # outside the calendar
            out.append(compact(tick))
    return out


def local_offset(at: float) -> float:
    """How far local time is ahead of UTC at a time; 0 outside the calendar."""
    try:
        offset = datetime.datetime.fromtimestamp(at).astimezone().utcoffset()
    except (OverflowError, OSError, ValueError):
        return 0.0
    return offset.total_seconds() if offset else 0.0


def _sizes(span: float, most: int) -> Iterator[float]:
    """1, 2 and 5 times powers of ten, starting well below the size that a span needs."""
    power = max(math.floor(math.log10(max(span / max(most, 1), 5e-324))) - 1, -323)
    while power < 309:
        for factor in (1, 2, 5):
            size = float(f"{factor}e{power}")
            if 0 < size < math.inf and span / size < 1e6:
                yield size
        power += 1


def _fits(span: float, size: float, most: int) -> bool:
    """Whether a span has at most `most` multiples of a size, wherever it begins."""
    return span / size + 1e-9 < max(most, 2)


def _multiples(low: float, high: float, size: float) -> list[float]:
    first, last = math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9)
    # Rounded to the digits of the distance: 3 × 0.1 is 0.3.
    digits = max(0, 1 - math.floor(math.log10(size)))
    return [round(n * size, digits) + 0.0 for n in range(first, min(last, first + 1000) + 1)]
