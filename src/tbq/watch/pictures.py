"""Images as half blocks and histograms as bars, in cells of a terminal."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

import numpy as np

from tbq.plot import ticks
from tbq.plot.cells import Line, Span, filled
from tbq.plot.numbers import compact, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.kinds.histograms import Histogram

_MOST_PIXELS = 50_000_000  # that are decoded for a picture on a terminal
_EIGHTHS = " ▁▂▃▄▅▆▇█"


def half_blocks(data: bytes, size: str, room: int, height: int) -> list[Line]:
    """An encoded image, two pixels in each cell; what it is in words if it cannot be drawn."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        return [[Span(f" {size}", dim=True)], [Span(" to see it: pip install 'tbq[media]'", dim=True)]]
    if room < 1 or height < 1:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image: Image.Image = Image.open(io.BytesIO(data))
        if image.width * image.height > _MOST_PIXELS:
            return [[Span(f" {size}: too large to be drawn", dim=True)]]
        scale = min(room / image.width, height * 2 / image.height)
        shape = max(round(image.width * scale), 1), max(round(image.height * scale), 1)
        how = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
        pixels = np.asarray(image.convert("RGB").resize(shape, how))
    except (
        OSError,
        ValueError,
        SyntaxError,
        UnidentifiedImageError,
        Image.DecompressionBombError,
        MemoryError,
    ):
        return [[Span(f" {size}: cannot be decoded", dim=True)]]
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
    """A histogram as upright bars over an axis of values; each cell has what lies in its share of the axis."""
    if not len(histogram.count) or height < 2 or room < 4:
        return [[Span(" empty", dim=True)]]
    low, middle, high = (float(value) for value in histogram.quantiles([0.0, 0.5, 1.0]))
    counts = _spread(histogram, low, high, room)
    bars = height - 2 if height >= 4 else height - 1
    largest = float(counts.max()) or 1.0
    eighths = np.ceil(counts / largest * bars * 8).astype(np.int64)
    lines: list[Line] = [
        [Span("".join(_EIGHTHS[min(max(each - row * 8, 0), 8)] for each in eighths.tolist()))]
        for row in range(bars - 1, -1, -1)
    ]
    axis = ["─"] * room
    free = 0
    places = ticks.linear(low, high, max(room // 12, 2))
    for place, label in zip(places, ticks.labels(places), strict=True):
        at = int((place - low) / (high - low) * (room - 1)) if high > low else 0
        start = min(max(at - len(label) // 2, 0), room - len(label))
        if start >= free:
            axis[start : start + len(label)] = label
            free = start + len(label) + 1
    lines.append([Span("".join(axis), dim=True)])
    if height >= 4:
        about = f"{compact(histogram.total)} values, {number(low)} to {number(high)}, median {number(middle)}"
        lines.append(filled([Span(about, dim=True)], room))
    return lines


def _spread(histogram: Histogram, low: float, high: float, cells: int) -> NDArray[np.float64]:
    """How many values lie in each of the cells from low to high; those of a bucket lie evenly in it."""
    counts = np.zeros(cells)
    if not high > low:
        counts[cells // 2] = histogram.total
        return counts
    edges = np.linspace(low, high, cells + 1)
    order = np.argsort(histogram.left, kind="stable")
    left, right, count = histogram.left[order], histogram.right[order], histogram.count[order]
    for begin, end, values in zip(left.tolist(), right.tolist(), count.tolist(), strict=True):
        if not values > 0:
            continue
        begin, end = max(begin, low), min(end, high)
        if not end > begin:
            at = min(max(int((begin - low) / (high - low) * cells), 0), cells - 1)
            counts[at] += values
            continue
        overlap = np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0, None)
        counts += values * overlap / (end - begin)
    return counts
