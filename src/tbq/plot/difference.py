"""Two runs compared: their curves, and below them their difference at common steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.errors import SelectionError, UsageError
from tbq.plot import ranges
from tbq.plot.backend import LONGEST, literal, name_text
from tbq.plot.colours import GREY
from tbq.plot.figure import draw_panel, mark_leaving
from tbq.plot.lines import Line, Panel
from tbq.plot.scales import dress
from tbq.plot.sheet import named, sheet
from tbq.table.pixels import grid, kept

if TYPE_CHECKING:
    from tbq.plot.lines import Floats
    from tbq.plot.options import PlotOptions
    from tbq.plot.scalars import ScalarPanels


def of_both(chart: ScalarPanels) -> ScalarPanels:
    """The chart with the tags that both runs, or groups, have; an error unless there are exactly two."""
    runs = list(dict.fromkeys(line.group for panel in chart.panels for line in panel.lines))
    if len(runs) != 2:
        raise UsageError(
            f"kind difference: want two runs or groups, got {len(runs)}",
            hint="--run A --run B, or --by with --band",
        )
    both = [panel for panel in chart.panels if len(panel.lines) == 2]
    if not both:
        raise SelectionError("nothing to draw: no tag is in both runs")
    return replace(chart, panels=both)


def difference(chart: ScalarPanels, vectors: bool = False, ax: Any = None) -> Any:
    """One column of panels per tag: the curves, and below them the second minus the first."""
    if ax is not None:
        raise UsageError("ax: a difference needs its own Axes, two for each tag", hint="omit ax")
    options, chart = chart.options, of_both(chart)
    both, count = chart.panels, len(chart.panels)
    runs = [line.group for line in both[0].lines]
    size = (5.6, 4.4) if count == 1 else (4.2 * count, 4.2)
    grid_options = {"height_ratios": [2.2, 1], "sharex": "col"}
    texts = [
        *runs,
        *(panel.tag for panel in both),
        chart.x_name,
        *map(chart.y_name, both),
        *chart.labels().values(),
    ]
    named_here = replace(options, x_label=None, y_label=None)
    with sheet(named_here, 2, count, texts, size, **grid_options) as (
        figure,
        axes,
    ):
        for i, panel in enumerate(both):
            above, below = axes[i], axes[count + i]
            draw_panel(above, panel, chart, vectors)
            named(above, y=chart.y_name(panel))
            _below(below, difference_panel(panel, options), options, above)
            named(below, x=chart.x_name, y="B − A" if i == 0 else None)
        handles = [line for line in axes[0].get_lines() if line.get_zorder() == 3]
        if options.legend != "none":
            words = [
                name_text(f"{letter}  {label}")
                for letter, label in zip("AB", chart.labels(LONGEST - 3).values(), strict=True)
            ]
            # Inside the axes, the legend would cover lines that leave the range, or their values.
            if chart.leaving or count > 1:
                legend = figure.legend(handles, words, loc="outside upper left", ncols=min(count, 2))
            else:
                legend = axes[0].legend(handles, words, loc="best")
            for text in legend.get_texts():
                literal(text)
    return figure


def subtracted(first: Line, second: Line) -> tuple[Floats, Floats]:
    """Common x, and the second minus the first at each; of two values at one x the last counts."""
    both = []
    for line in (first, second):
        places, at = np.unique(line.x[::-1], return_index=True)
        both.append((places, line.y[::-1][at]))
    common, left, right = np.intersect1d(both[0][0], both[1][0], assume_unique=True, return_indices=True)
    if not len(common):
        raise SelectionError(
            "no difference: the two have no x in common", hint="x='step' if both logged the same steps"
        )
    with np.errstate(all="ignore"):
        return common, both[1][1][right] - both[0][1][left]


def difference_panel(panel: Panel, options: PlotOptions) -> Panel:
    """The difference as a panel. Its range covers the differences of values that the curves' panel shows."""
    first, second = panel.lines
    x, values = subtracted(first, second)
    values = np.where(np.isfinite(values), values, np.nan)
    low, high = ranges.drawn_range(panel, options.of_tag(panel.tag))
    inside = [
        replace(line, y=np.where((line.y >= low) & (line.y <= high), line.y, np.nan)) for line in panel.lines
    ]
    _, usual = subtracted(*inside)
    line = Line("difference", GREY, x, values, group="difference")
    return Panel(f"{panel.tag}: {second.group} − {first.group}", [line], runs=[usual])


def below_options(options: PlotOptions) -> PlotOptions:
    """The options for the panel of differences: these may be negative, and have their own limits."""
    return replace(options, log_y=False, log_tags=(), ylim=(None, None), band="none", each=False)


def _below(ax: Any, panel: Panel, options: PlotOptions, above: Any) -> None:
    (line,) = panel.lines
    x, values = line.x, line.y
    rows = kept(grid(x, float(x[0]), float(x[-1]), 800, options.log_x), values, 3200)
    grey = above.spines["left"].get_edgecolor()
    ax.axhline(0, color=grey, lw=0.8, zorder=1)
    ax.fill_between(x[rows], 0, values[rows], color=grey, alpha=0.18, lw=0)
    ax.plot(x[rows], values[rows], color=grey, lw=1.0, zorder=3)
    low, high = ranges.drawn_range(panel, below_options(options)) if np.isfinite(values).any() else (0.0, 0.0)
    limits = ranges.spaced(min(low, 0.0), max(high, 0.0), False, 0.08)
    ax.set_ylim(*limits)
    mark_leaving(ax, ranges.leaving(panel, limits, below_options(options)), below_options(options))
    dress(ax.yaxis, "value")
    dress(ax.xaxis, options.axis, options.log_x)
    above.tick_params(labelbottom=False)
