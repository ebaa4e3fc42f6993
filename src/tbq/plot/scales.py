"""Axes of a figure with ticks where people would put them, by the rules of the terminal charts."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tbq.plot import ticks

if TYPE_CHECKING:
    from matplotlib.axis import Axis


_MOST_DECADES = 10  # the most decades with ticks between them


def dress(axis: Axis, what: str, log: bool = False) -> None:
    """Set ticks and labels of an axis: "step", "relative", "wall" or "value"."""
    from matplotlib import ticker

    class Places(ticker.Locator):
        """Places ticks by one of tbq's rules."""

        def __call__(self) -> Sequence[float]:
            axis: Any = self.axis
            return self.tick_values(*axis.get_view_interval())

        def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
            low, high = min(vmin, vmax), max(vmin, vmax)
            most, letters = _room(self.axis, what, log)
            places = _places(what, log, low, high, most)
            while most > 2 and not log and _letters(what, places) > letters:
                most -= 1
                places = _places(what, log, low, high, most)
            return self.raise_if_exceeds(list(places))

    class Labels(ticker.Formatter):
        """Formats all labels together, so that they agree."""

        def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 - matplotlib's signature
            return _label(what, log, x)

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return _labels(what, log, list(values))

    class Minor(ticker.Locator):
        """2 to 9 times each power of ten, unless there are too many."""

        def __call__(self) -> Sequence[float]:
            axis: Any = self.axis
            return self.tick_values(*axis.get_view_interval())

        def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
            return _between_powers(min(vmin, vmax), max(vmin, vmax))

    axis.set_major_locator(Places())
    axis.set_major_formatter(Labels())
    if log:
        axis.set_minor_locator(Minor())
        axis.set_minor_formatter(ticker.NullFormatter())
    else:
        axis.set_minor_locator(ticker.NullLocator())


def _room(axis: Any, what: str, log: bool) -> tuple[int, float]:
    """The number of usual labels that fit, and of letters side by side."""
    box = axis.axes.get_window_extent()
    upright = axis.axis_name == "y"
    points = (box.height if upright else box.width) * 72 / axis.axes.figure.dpi
    size = axis.get_major_ticks(1)[0].label1.get_fontsize()
    each = size * (3.4 if upright else 7.0 if what in ("relative", "wall") else 4.4)
    return max(2, min(int(points / each), 6 if log else 8)), math.inf if upright else points / size / 0.6


def _letters(what: str, places: tuple[float, ...]) -> int:
    """The letters of all labels, as long as the longest, with the space between them."""
    return len(places) * (2 + max(map(len, _labels(what, False, list(places))), default=0))


@functools.lru_cache(maxsize=256)  # a figure's layout calls it a hundred times
def _places(what: str, log: bool, low: float, high: float, most: int) -> tuple[float, ...]:
    if log:
        return tuple(ticks.logarithmic(low, high, most))
    if what == "relative":
        return tuple(ticks.times(low, high, most))
    if what == "wall":
        return tuple(ticks.times(low, high, most, ticks.local_offset(low)))
    places = ticks.linear(low, high, most)
    if len(places) < 2:  # one label does not show a scale
        places = ticks.linear(low, high, most + 1)
    if what == "step":
        places = [place for place in places if place == int(place)] or places
    return tuple(places)


def _between_powers(low: float, high: float) -> list[float]:
    if not 0 < low <= high < math.inf or math.log10(high) - math.log10(low) > _MOST_DECADES:
        return []
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    places = (float(f"{factor}e{power}") for power in powers for factor in range(2, 10))
    return [place for place in places if low <= place <= high]


def _labels(what: str, log: bool, places: list[float]) -> list[str]:
    if what == "relative":
        return ticks.time_labels(places)
    if what == "wall":
        return ticks.clock_labels(places)
    if log and _powers(places):
        return [rf"$\mathdefault{{10^{{{round(math.log10(place))}}}}}$" for place in places]
    return [text.replace("-", "−", 1) if text.startswith("-") else text
            for text in (ticks.log_labels(places) if log else ticks.labels(places))]  # fmt: skip


def _powers(places: Sequence[float]) -> bool:
    """Whether to write ticks as powers of ten."""
    if not places or not all(math.isclose(math.log10(place) % 1, 0, abs_tol=1e-9) for place in places):
        return False
    return min(places) < 1e-3 or max(places) > 1e4 or len(places) > 3


def _label(what: str, log: bool, place: float) -> str:
    return _labels(what, log and place > 0, [place])[0]
