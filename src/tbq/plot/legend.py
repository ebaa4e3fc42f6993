"""Which colour is what: a legend inside or beside the panels, or labels at the ends of lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.plot.backend import LONGEST, literal, points
from tbq.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tbq.plot.scalars import ScalarPanels

MOST = 20  # entries
_INSIDE = 6
_DIRECT = 6
_DIRECT_LETTERS = 22
_LINE = 1.4  # the height of an entry, in font sizes
_SPACING = 1.2  # between columns, in font sizes
_ROWS = 12  # of a legend above the panels; the figure grows for them


def labels_of(chart: ScalarPanels) -> list[str]:
    """The label of each group."""
    return [printable(label) for label in chart.labels(LONGEST).values()]


def place_of(chart: ScalarPanels) -> str:
    """Where the legend goes: the option's place, or where it fits."""
    if chart.options.legend is not None:
        return chart.options.legend
    labels = labels_of(chart)
    if len(labels) < 2 and (chart.options.paper or not labels):
        return "none"
    if len(chart.panels) > 1:
        return "outside" if len(labels) > 1 else "none"
    if chart.options.paper and len(labels) <= _DIRECT and max(map(len, labels)) <= _DIRECT_LETTERS:
        return "direct"
    # Inside the axes, a legend would cover lines that leave the range, or their values.
    return "inside" if len(labels) <= _INSIDE and not chart.leaving else "outside"


def room_aside(chart: ScalarPanels, size: float) -> float:
    """Inches that a legend beside the panels takes; `size` is its font size in points."""
    if place_of(chart) != "outside" or is_above(chart, size):
        return 0.0
    return _aside(chart, size)


def is_above(chart: ScalarPanels, size: float) -> bool:
    """Whether an outside legend is above the panels.

    In papers, with the groups divided into panels, and if the requested width has no room beside them.
    """
    width = chart.options.size[0]
    return (
        chart.options.paper or _is_divided(chart) or (width is not None and _aside(chart, size) > 0.4 * width)
    )


def _is_divided(chart: ScalarPanels) -> bool:
    """Whether each panel has other groups of the same tag: then every group is named."""
    return len(chart.panels) > 1 and len({panel.tag for panel in chart.panels}) == 1


def _aside(chart: ScalarPanels, size: float) -> float:
    longest = max(map(len, labels_of(chart)), default=0)
    return min(0.5 + 0.0085 * size * longest, 0.44 * size)


def room_above(chart: ScalarPanels, width: float, size: float) -> float:
    """Inches that a legend above the panels takes; `size` is its font size in points."""
    if place_of(chart) != "outside" or not is_above(chart, size):
        return 0.0
    labels = labels_of(chart)
    rows = -(-len(labels) // beside(labels, width, size))
    return min(rows, _ROWS) * size * _LINE / 72


def beside(labels: Sequence[str], width: float, size: float) -> int:
    """How many legend entries fit in a row, each with its label, its line and the space around them."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    widest = max(
        (text_to_path.get_text_width_height_descent(label, font, False)[0] for label in labels), default=0
    )
    each = widest + (2.8 + _SPACING) * size
    return max(1, min(len(labels), int((width * 72 + _SPACING * size) / each)))


def legends(figure: Figure, axes: Sequence[Axes], chart: ScalarPanels) -> None:
    """Draw the legend."""
    place = place_of(chart)
    if place == "none":
        return
    if place == "direct":
        figure.draw_without_rendering()  # for the layout
        texts = chart.labels(LONGEST)
        fitted = [_direct(ax, texts) for ax in axes]
        if all(fitted):
            return
        for ax in axes:
            for text in [each for each in ax.texts if each.get_label() == "end"]:
                text.remove()
        place = "outside" if len(axes) > 1 else "inside"
    size = points("legend.fontsize")
    names = labels_of(chart)
    width, height = figure.get_figwidth(), figure.get_figheight()
    over = place == "outside" and is_above(chart, size)
    columns = beside(names, width, size) if over else 1
    share = (
        0.95 if place == "outside" and not over else 0.45
    )  # inside, panels keep more than half of the height
    rows = max(1, int(height * share * 72 / (size * _LINE)))
    most = max(rows * columns, 2)
    handles, labels = _entries(axes, chart, most if _is_divided(chart) else min(MOST, most))
    if place == "inside":
        legend = axes[0].legend(handles, labels, loc="best")
    elif not figure.get_constrained_layout():  # the user's figure, which makes no room
        legend = axes[0].legend(
            handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0
        )
    elif over:
        legend = figure.legend(
            handles, labels, loc="outside upper center", columnspacing=_SPACING, ncols=columns
        )
    else:
        legend = figure.legend(handles, labels, loc="outside right upper")
    for text in legend.get_texts():
        literal(text)


def _entries(axes: Sequence[Axes], chart: ScalarPanels, most: int) -> tuple[list[Any], list[str]]:
    """The line and the name of each group, at most `most` of them."""
    from matplotlib.lines import Line2D

    first: dict[str, Any] = {}
    for ax in axes:
        for drawn in ax.get_lines():
            if hasattr(drawn, "_tbq_group"):
                first.setdefault(str(drawn._tbq_group), drawn)
    names = {group: label for group, label in chart.labels(LONGEST).items() if group in first}
    kept = list(names) if len(names) <= most else list(names)[: most - 1]
    handles = [first[group] for group in kept]
    shown = [printable(names[group]) for group in kept]
    if len(shown) < len(names):
        handles.append(Line2D([], [], ls="none"))
        shown = [*shown, f"… and {len(names) - len(shown):,} more"]
    return handles, shown


def _direct(ax: Axes, labels: Mapping[str, str]) -> bool:
    """Label lines at their ends, pushed apart if they would overlap; False if the labels do not fit."""
    figure: Any = ax.figure
    ends: dict[str, tuple[float, float, str]] = {}
    for drawn in ax.get_lines():
        if not hasattr(drawn, "_tbq_group"):
            continue
        x, y = np.asarray(drawn.get_xdata(), float), np.asarray(drawn.get_ydata(), float)
        finite = np.flatnonzero(np.isfinite(y))
        if len(finite):
            ends.setdefault(str(drawn._tbq_group), (x[finite[-1]], y[finite[-1]], str(drawn.get_color())))
    if not ends:
        return True
    box = ax.get_window_extent()
    size = points("legend.fontsize")
    height = size * 1.15 * figure.dpi / 72
    if height * len(ends) > box.height:
        return False
    wanted = {name: float(ax.transData.transform((x, y))[1]) for name, (x, y, _) in ends.items()}
    wanted = {name: min(max(y, box.y0), box.y1) for name, y in wanted.items()}
    order = sorted(wanted, key=wanted.__getitem__)
    places = spread([wanted[name] for name in order], height, box.y0, box.y1)
    for name, place in zip(order, places, strict=True):
        _, _, colour = ends[name]
        text = ax.annotate(
            printable(labels[name]),
            (1.0, (place - box.y0) / box.height),
            xycoords="axes fraction",
            xytext=(3, 0),
            textcoords="offset points",
            color=colour,
            fontsize=size,
            va="center",
            ha="left",
            annotation_clip=False,
        )
        literal(text).set_label("end")
    return True


def spread(places: Sequence[float], height: float, low: float, high: float) -> list[float]:
    """Ascending places, moved as little as needed so that neighbours are `height` apart, from low to high.

    >>> spread([1.0, 1.0, 9.0], 2.0, 0.0, 10.0)
    [0.0, 2.0, 9.0]
    """
    blocks: list[
        list[float]
    ] = []  # per block of touching labels: the sum of their desired starts, their count
    for i, place in enumerate(places):
        blocks.append([place - i * height, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    out: list[float] = []
    last = high - (len(places) - 1) * height
    for total, count in blocks:
        start = min(max(total / count, low), max(last, low))
        out += [start + (len(out) + k) * height for k in range(int(count))]
    return out
