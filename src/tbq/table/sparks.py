"""Sparklines: a curve as small as a word, in characters for a terminal or as SVG for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tbq.arguments import keywords
from tbq.columns.codes import names_in
from tbq.columns.grouped import GroupedRows
from tbq.decode.options import READING
from tbq.select import Names, Selection, Steps, several
from tbq.table.pixels import columns_of, grid, kept
from tbq.table.scalars import scalars

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tbq.decode.options import Reading
    from tbq.decode.reader import Reader

    Floats = NDArray[np.float64]

_LEVELS = "▁▂▃▄▅▆▇█"
BROKEN = "✕"


def spark_text(x: Floats, y: Floats, width: int = 16, ends: tuple[float, float] | None = None) -> str:
    """A curve in `width` characters: each is the mean of its part of x, but the smallest and largest values show.

    `ends` are the ends of x, so that the sparklines of several runs share an axis. A stretch of non-finite values
    begins with a cross.

    >>> spark_text(np.arange(8.0), np.array([0.0, 1, 2, 3, 4, 5, 6, 7]), 8)
    '▁▂▃▄▅▆▇█'
    >>> spark_text(np.arange(4.0), np.array([3.0, 1, np.nan, np.nan]), 4)
    '█▁✕ '
    """
    has_x = np.isfinite(x)
    x, y = x[has_x], y[has_x]
    if not len(x):
        return " " * width
    low, high = ends if ends is not None else (float(x.min()), float(x.max()))
    at = grid(x, low, high, width)
    finite = np.isfinite(y)
    columns = columns_of(at, y, width)
    inside = finite & (at >= 0)
    with np.errstate(all="ignore"):
        total = np.bincount(at[inside], y[inside], width) / np.bincount(at[inside], minlength=width)
    letters = [" "] * width
    if inside.any():
        least, largest = float(np.nanmin(columns.min)), float(np.nanmax(columns.max))
        shown = np.where(columns.max == largest, largest, np.where(columns.min == least, least, total))
        share = (shown / 2 - least / 2) / (largest / 2 - least / 2) if largest > least else shown * 0 + 0.5
        for i in np.flatnonzero(np.isfinite(share)).tolist():
            letters[i] = _LEVELS[min(int(share[i] * 8), 7)]
    begins = ~finite & ~np.append(False, ~finite[:-1])
    for i in at[begins & (at >= 0)].tolist():
        if letters[i] == " ":
            letters[i] = BROKEN
    return _bridged(letters)


def _bridged(letters: list[str]) -> str:
    """Fill the gap between two distant characters by repeating the first: it means only that points are few."""
    known = [i for i, letter in enumerate(letters) if letter != " "]
    for left, right in zip(known, known[1:], strict=False):
        if letters[left] != BROKEN and letters[right] != BROKEN:
            letters[left + 1 : right] = letters[left] * (right - left - 1)
    return "".join(letters)


def spark_svg(x: Floats, y: Floats) -> str:
    """A curve as an SVG element, in the colour of the surrounding text; a red cross where values stop being finite.

    >>> spark_svg(np.arange(2.0), np.array([0.0, 1.0]))[:4]
    '<svg'
    """
    width, height = 80, 18
    has_x = np.isfinite(x)
    x, y = x[has_x], y[has_x]
    finite = np.isfinite(y)
    if not finite.any():
        return ""
    low, high = float(x.min()), float(x.max())
    rows = kept(grid(x, low, high, width), np.where(finite, y, np.nan), 4 * width)
    x, y, finite = x[rows], y[rows], finite[rows]
    least, largest = float(y[finite].min()), float(y[finite].max())
    with np.errstate(all="ignore"):
        across = (x / 2 - low / 2) / (high / 2 - low / 2) if high > low else x * 0 + 0.5
        up = (y / 2 - least / 2) / (largest / 2 - least / 2) if largest > least else y * 0 + 0.5
    left, top = 1 + across * (width - 2), 1.5 + (1 - up) * (height - 3)
    parts: list[str] = []
    pen = "M"
    for place_x, place_y, solid in zip(left.tolist(), top.tolist(), finite.tolist(), strict=True):
        if not solid:
            pen = "M"
            continue
        parts.append(f"{pen}{place_x:.1f} {place_y:.1f}")
        pen = "L"
    end = np.flatnonzero(finite)[-1]
    cross = ""
    if end + 1 < len(finite):
        at = float(left[end + 1])
        cross = f'<path d="M{at - 2:.1f} {height - 5}l4 4m0-4l-4 4" fill="none" stroke="#c8373a" stroke-width="1.2"/>'
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" style="vertical-align:middle">'
        f'<path d="{"".join(parts)}" fill="none" stroke="currentColor" stroke-width="1" opacity="0.75"/>'
        f'<circle cx="{left[end]:.1f}" cy="{top[end]:.1f}" r="1.5" fill="currentColor"/>{cross}</svg>'
    )


def spark_texts(scalars: pa.Table, tag: str, runs: Sequence[str], width: int = 16) -> dict[str, str]:
    """The sparkline of a tag for each of these runs, on one axis of steps; blank for a run without the tag."""
    series = GroupedRows.of(scalars)
    parts = {run: part for (run, of), part in series.parts().items() if of == tag}
    steps = [series.step[part] for run, part in parts.items() if run in runs]
    if not steps:
        return dict.fromkeys(runs, "")
    ends = float(min(each.min() for each in steps)), float(max(each.max() for each in steps))
    return {
        run: spark_text(series.step[parts[run]].astype(np.float64), series.value[parts[run]], width, ends)
        if run in parts
        else ""
        for run in runs
    }


def sparklines(
    reader: Reader, tag: str, run: Names, width: int, steps: Steps, reading: Reading
) -> dict[str, str]:
    """The sparkline of each run."""
    keywords("log.sparklines", reading, ("run", "width", "steps", *READING))
    table = scalars(reader, tag, run, steps, **reading).to_arrow()
    tags = Selection.of(tag).require(names_in(table["tag"]), where=reader.path)
    if len(tags) > 1:
        raise several("tag", tags)
    return spark_texts(table, tags[0], [each.name for each in reader.choose(run)], width)
