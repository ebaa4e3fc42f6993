"""Pictures of results: a confusion matrix, and the statistics of weights by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.columns.codes import values_of
from tbq.errors import SelectionError, warn
from tbq.numbers import compact
from tbq.plot.scales import dress
from tbq.plot.sheet import named, sheet, tick_names
from tbq.text import counted

if TYPE_CHECKING:
    from tbq.plot.options import PlotOptions
    from tbq.table.table import Table

_MOST_NUMBERS = 20  # the most classes for which cells show their numbers
_MOST_CLASSES = 200
_MOST_LAYERS = 60


def confusion(table: Table, options: PlotOptions, ax: Any = None) -> Any:
    """Labels against predictions; the colour shows the share of a label's examples, the number their count."""
    arrow = table.to_arrow()
    labels = [options.relabelled(str(each)) for each in values_of(arrow.column(0))]
    names = arrow.column_names[1:]
    if not labels or not names:
        raise SelectionError("nothing to draw: the confusion matrix is empty")
    if len(names) > _MOST_CLASSES:
        warn(f"{counted(len(names), 'class')}: names are left out")
    counts = np.array([arrow[name].to_numpy() for name in names], float).T
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = min(max(2.2 + 0.36 * len(names), 3.2), 9.0)
    names = [options.relabelled(name) for name in names]
    with sheet(options, 1, 1, [*labels, *names], (side + 0.8, side), ax) as (figure, axes):
        each = axes[0]
        drawn = each.imshow(shares, cmap="cividis" if options.dark else "Blues", vmin=0, vmax=1)
        each.grid(False)
        if len(names) <= _MOST_CLASSES // 4:
            slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
            long = max(map(len, names)) > 3
            tick_names(each.xaxis, names, 18, **(slanted if long else {}))
            tick_names(each.yaxis, labels, 18)
        if len(names) <= _MOST_NUMBERS:
            for row in range(len(labels)):
                for column in range(len(names)):
                    if counts[row, column]:
                        light = shares[row, column] > 0.55
                        each.text(
                            column, row, compact(counts[row, column]), ha="center", va="center", fontsize="small",
                            color="white" if light != options.dark else "#262626" if not options.dark else "black",
                        )  # fmt: skip
        for spine in each.spines.values():
            spine.set_visible(False)
        each.tick_params(length=0)
        bar = figure.colorbar(drawn, ax=each, aspect=30, pad=0.02, shrink=0.9)
        bar.outline.set_visible(False)
        bar.set_label("share of the label")
        named(each, x="predicted", y="label")
    return ax or figure


def weights(table: Table, options: PlotOptions, ax: Any = None) -> Any:
    """The mean of each parameter, one standard deviation to both sides, and the range of its elements."""
    arrow = table.to_arrow()
    rows = [row for row in arrow.select(["layer", "parameter", "mean", "std", "min", "max"]).to_pylist()
            if row["mean"] is not None]  # fmt: skip
    if not rows:
        raise SelectionError("nothing to draw: no parameter has a mean")
    if len(rows) > _MOST_LAYERS:
        warn(f"{len(rows):,} parameters: drawing the first {_MOST_LAYERS}; choose with layer=")
        rows = rows[:_MOST_LAYERS]
    names = [f"{row['layer']}.{row['parameter']}" if row["layer"] else str(row["parameter"]) for row in rows]
    names = [options.relabelled(name) for name in names]
    place = np.arange(len(rows))
    mean, std, low, high = (
        np.array([row[name] for row in rows], float) for name in ("mean", "std", "min", "max")
    )
    colour = "#4e79a7" if options.dark else "#3b6a9c"
    with sheet(options, 1, 1, names, (5.2, 0.9 + 0.21 * len(rows)), ax) as (figure, axes):
        each = axes[0]
        each.hlines(place, low, high, color=colour, lw=0.9, alpha=0.5)
        each.hlines(place, mean - std, mean + std, color=colour, lw=4.0, alpha=0.55)
        each.plot(mean, place, ls="none", marker="o", ms=3.2, mew=0, color=colour)
        each.axvline(0, color=each.spines["left"].get_edgecolor(), lw=0.6, zorder=0)
        tick_names(each.yaxis, names, 32)
        each.set_ylim(len(rows) - 0.4, -0.6)
        each.grid(False)
        each.tick_params(axis="y", length=0)
        if options.log_x:
            each.set_xscale("symlog", linthresh=1e-3)
        else:
            dress(each.xaxis, "value")
        named(each, x="value: mean, ± std, min to max")
    return ax or figure
