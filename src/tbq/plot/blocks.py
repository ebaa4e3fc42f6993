"""Images as half blocks and histograms as bars, in cells of a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tbq.errors import DamageError, DependencyError
from tbq.export.pictures import picture
from tbq.kinds.histograms import Histogram
from tbq.numbers import compact, number
from tbq.plot import ticks
from tbq.plot.cells import Line, Span, filled

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image


_NEAREST, _BOX = 0, 4  # PIL's numbers for these filters
_EIGHTHS = " ▁▂▃▄▅▆▇█"


def half_blocks(data: bytes, size: str, room: int, height: int) -> list[Line]:
    """An encoded image, two pixels per cell; if it cannot be drawn, a description in words."""
    if room < 1 or height < 1:
        return []
    try:
        return blocks_of(picture(data), room, height)
    except DependencyError as absent:
        return [[Span(f" {size}", dim=True)], [Span(f" to see it: {absent.hint}", dim=True)]]
    except (DamageError, OSError, ValueError, ZeroDivisionError, MemoryError):
        return [[Span(f" {size}: cannot be drawn", dim=True)]]


def blocks_of(image: Image.Image, room: int, height: int) -> list[Line]:
    """A PIL image in at most `room` × `height` cells, two pixels per cell."""
    scale = min(room / image.width, height * 2 / image.height)
    shape = max(round(image.width * scale), 1), max(round(image.height * scale), 1)
    pixels = np.asarray(image.convert("RGB").resize(shape, _NEAREST if scale >= 1 else _BOX))
    lines: list[Line] = []
    for top in range(0, len(pixels), 2):
        line: Line = []
        for x in range(pixels.shape[1]):
            above = _colour(pixels[top, x])
            below = _colour(pixels[top + 1, x]) if top + 1 < len(pixels) else None
            if line and (line[-1].colour, line[-1].ground) == (above, below):
                line[-1] = line[-1]._replace(text=line[-1].text + "▀")
            else:
                line.append(Span("▀", above, ground=below))
        lines.append(line)
    return lines


def _colour(pixel: NDArray[np.uint8]) -> str:
    return f"#{pixel.tobytes().hex()}"


def histogram_bars(histogram: Histogram, room: int, height: int) -> list[Line]:
    """A histogram as upright bars over an axis of values; each cell shows the values in its part of the axis."""
    if not len(histogram.count) or height < 2 or room < 4:
        return [[Span(" empty", dim=True)]]
    full = (histogram.count > 0) & np.isfinite(histogram.left) & np.isfinite(histogram.right)
    histogram = Histogram(histogram.left[full], histogram.right[full], histogram.count[full])
    if not full.any() or not math.isfinite(histogram.total):
        return [[Span(" nothing to draw", dim=True)]]
    low, middle, high = (float(value) for value in histogram.quantiles([0.0, 0.5, 1.0]))
    about = f"{compact(histogram.total)} values, {number(low)} to {number(high)}, median {number(middle)}"
    counts, edges = histogram.evenly(room)
    low, high = float(edges[0]), float(edges[-1])
    bars = height - 2 if height >= 4 else height - 1
    largest = float(counts.max()) or 1.0
    eighths = np.ceil(counts / largest * bars * 8).astype(np.int64)
    lines: list[Line] = [
        [Span("".join(_EIGHTHS[min(max(each - row * 8, 0), 8)] for each in eighths.tolist()))]
        for row in range(bars - 1, -1, -1)
    ]
    lines.append([Span(value_axis(low, high, room), dim=True)])
    if height >= 4:
        lines.append(filled([Span(about, dim=True)], room))
    return lines


def value_axis(low: float, high: float, room: int) -> str:
    """A line with the labels of the ticks."""
    axis = ["─"] * room
    free = 0
    places = ticks.linear(low, high, max(room // 8, 2))
    for place, label in zip(places, ticks.labels(places), strict=True):
        at = int((place / 2 - low / 2) / (high / 2 - low / 2) * (room - 1)) if high > low else 0
        start = min(max(at - len(label) // 2, 0), room - len(label))
        if start >= free:
            axis[start : start + len(label)] = label
            free = start + len(label) + 1
    return "".join(axis)
