"""Precision-recall curves: the last curve of each run, or every step of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.columns.codes import values_of
from tbq.errors import SelectionError
from tbq.plot.backend import LONGEST, literal
from tbq.plot.colours import colours, ordinal, print_colours
from tbq.plot.line_styles import line_styles
from tbq.plot.scales import dress
from tbq.plot.sheet import named, sheet, side_by_side

if TYPE_CHECKING:
    from tbq.plot.options import PlotOptions
    from tbq.table.table import Table

_MOST_STEPS = 12


def precision_recall(table: Table, options: PlotOptions, ax: Any = None) -> Any:
    """One panel per tag."""
    arrow = table.to_arrow()
    curves: dict[str, dict[tuple[str, int], list[tuple[float, float]]]] = {}
    columns = (values_of(arrow["run"]), values_of(arrow["tag"]))
    numbers = (arrow[name].to_pylist() for name in ("step", "recall", "precision"))
    for run, tag, step, recall, precision in zip(*columns, *numbers, strict=True):
        if recall is not None and precision is not None:
            curves.setdefault(tag, {}).setdefault((run, step), []).append((recall, precision))
    if not curves:
        raise SelectionError("nothing to draw: no precision-recall curve has points")
    side = side_by_side(options, len(curves), 3)
    rows = -(-len(curves) // side)
    texts = [*curves, *(run for of_tag in curves.values() for run, _ in of_tag)]
    with sheet(options, rows, side, texts, (4.2 * side, 3.8 * rows), ax) as (
        figure,
        axes,
    ):
        for each in axes[len(curves) :]:
            each.remove()
        for each, (tag, of_tag) in zip(axes, curves.items(), strict=False):
            _panel(each, of_tag, options)
            named(
                each,
                title=None if options.paper and len(curves) == 1 else options.relabelled(tag),
                x="recall",
                y="precision",
            )
    return ax or figure


def _panel(ax: Any, curves: dict[tuple[str, int], list[tuple[float, float]]], options: PlotOptions) -> None:
    runs = sorted({run for run, _ in curves})
    if len(runs) == 1:
        steps = sorted(step for _, step in curves)
        if len(steps) > _MOST_STEPS:
            steps = [
                steps[i] for i in np.linspace(0, len(steps) - 1, _MOST_STEPS).round().astype(int).tolist()
            ]
        wanted = {f"step {step:,}": curves[runs[0], step] for step in steps}
        colour = ordinal(list(wanted), options.dark)
    else:
        last = {run: max(step for of, step in curves if of == run) for run in runs}
        wanted = {run: curves[run, last[run]] for run in runs}
        colour = colours(runs) if options.dark else print_colours(runs)
    styles = line_styles(colour, varied=len(runs) == 1 and len(wanted) > _MOST_STEPS // 2)
    short = options.labels(list(wanted), LONGEST)
    for (name, points), label in zip(wanted.items(), short, strict=True):
        recall, precision = np.array(points, float).T
        (line,) = ax.plot(
            recall, precision, color=styles[name].colour, ls=styles[name].dashes, label=label, lw=1.4
        )
        if styles[name].marker:
            line.set(
                marker=styles[name].marker,
                markersize=4,
                markeredgewidth=0,
                markevery=max(len(points) // 6, 1),
            )
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.05)
    ax.set_aspect("equal")
    dress(ax.xaxis, "value")
    dress(ax.yaxis, "value")
    if options.legend != "none" and (len(wanted) > 1 or not options.paper):
        legend = ax.legend(
            ax.get_lines()[:20], [line.get_label() for line in ax.get_lines()][:20], loc="best"
        )
        for text in legend.get_texts():
            literal(text)
