"""Histograms over steps: as ridges, one behind the other, or as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.errors import SelectionError, warn
from tbq.kinds.histograms import Histogram, HistogramTable, shared_edges, solid
from tbq.plot.colours import viridis
from tbq.plot.samples import rows_by_step, series_names
from tbq.plot.scales import dress
from tbq.plot.sheet import named, sheet, side_by_side
from tbq.text import counted

if TYPE_CHECKING:
    from tbq.plot.options import PlotOptions

_BINS = 90
_MOST_RIDGES = 40
_MOST_PANELS = 12
_OVERLAP = 2.2  # the height of the highest ridge, in ridges


def distributions(table: HistogramTable, options: PlotOptions, kind: str, ax: Any = None) -> Any:
    """One panel per run and tag."""
    series = series_of(table)
    if len(series) > _MOST_PANELS:
        warn(f"{len(series):,} histograms: drawing the first {_MOST_PANELS}; choose with tag=, run=")
    shown = list(series.items())[:_MOST_PANELS]
    columns = side_by_side(options, len(shown), 3)
    rows = -(-len(shown) // columns)
    names = series_names(series, options)
    size = (5.2, 3.6) if columns == 1 else (3.6 * columns, 2.9 * rows)
    with sheet(options, rows, columns, names.values(), size, ax) as (
        figure,
        axes,
    ):
        for each in axes[len(shown) :]:
            each.remove()
        for each, (key, histograms) in zip(axes, shown, strict=False):
            (_ridges if kind == "ridge" else _heat)(figure, each, histograms, options)
            named(each, title=names[key])
    return ax or figure


def series_of(table: HistogramTable) -> dict[tuple[str, str], list[tuple[int, Histogram]]]:
    """The non-empty histograms of each run and tag, by step; of two at one step the last."""
    series: dict[tuple[str, str], list[tuple[int, Histogram]]] = {}
    for key, steps in rows_by_step(table.to_arrow()).items():
        for step, rows in steps.items():
            histogram = _shares(table.histogram(rows[-1]))
            if histogram is not None:
                series.setdefault(key, []).append((step, histogram))
    if not series:
        raise SelectionError("nothing to draw: no histogram has values")
    return series


def edges_of(histograms: list[tuple[int, Histogram]], bins: int = _BINS) -> Any:
    """Edges of bins that cover all of the histograms."""
    return shared_edges([each for _, each in histograms], bins)


def _shares(histogram: Histogram) -> Histogram | None:
    """The drawable buckets of a histogram, as shares of the fullest; None if there are none."""
    full = solid(histogram)
    return None if full is None else Histogram(full.left, full.right, full.count / full.count.max())


def _ridges(_figure: Any, ax: Any, histograms: list[tuple[int, Histogram]], options: PlotOptions) -> None:
    if len(histograms) > _MOST_RIDGES:
        places = np.linspace(0, len(histograms) - 1, _MOST_RIDGES).round().astype(int).tolist()
        warn(f"{counted(len(histograms), 'step')}: drawing {_MOST_RIDGES} ridges; --kind heatmap draws all")
        histograms = [histograms[i] for i in places]
    edges = edges_of(histograms)
    middle = (edges[1:] + edges[:-1]) / 2
    heights = [each.over(edges) / each.total for _, each in histograms]
    largest = max(float(height.max()) for height in heights)
    count = len(histograms)
    ground = ax.get_facecolor()
    for i, height in enumerate(heights):
        share = i / max(count - 1, 1)
        colour = viridis(0.2 + 0.8 * share if options.dark else 0.85 * share)
        base = float(count - 1 - i)  # the first step is at the back, at the top
        top = base + height / largest * _OVERLAP
        ax.fill_between(middle, base, top, color=ground, lw=0, zorder=2 * i + 2)
        ax.fill_between(middle, base, top, color=colour, alpha=0.55, lw=0, zorder=2 * i + 2)
        ax.plot(middle, top, color=colour, lw=0.9, zorder=2 * i + 3)
    every = -(-count // 8)
    places = list(range(0, count, every))
    ax.set_yticks([count - 1 - i for i in places], [f"{histograms[i][0]:,}" for i in places])
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(False)
    ax.set_ylim(-0.15, count - 1 + _OVERLAP * 1.05)
    ax.set_xlim(edges[0], edges[-1])
    dress(ax.xaxis, "value")
    named(ax, x="value", y="step")


def _heat(figure: Any, ax: Any, histograms: list[tuple[int, Histogram]], _options: PlotOptions) -> None:
    edges = edges_of(histograms)
    steps = np.array([step for step, _ in histograms], float)
    shares = np.array([each.over(edges) / each.total for _, each in histograms])
    gaps = np.diff(steps) / 2
    ends = [steps[0] - (gaps[0] if len(gaps) else 0.5), steps[-1] + (gaps[-1] if len(gaps) else 0.5)]
    borders = np.concatenate([ends[:1], steps[:-1] + gaps, ends[1:]])
    drawn = ax.pcolormesh(borders, edges, shares.T, cmap="viridis", shading="flat", rasterized=True)
    ax.grid(False)
    if len(steps) <= 8:
        ax.set_xticks(steps, [f"{int(step):,}" for step in steps])
    else:
        dress(ax.xaxis, "step")
    dress(ax.yaxis, "value")
    bar = figure.colorbar(drawn, ax=ax, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("share of values")
    dress(bar.ax.yaxis, "value")
    named(ax, x="step", y="value")
