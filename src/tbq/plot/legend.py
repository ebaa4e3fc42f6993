"""Which colour is what: a legend inside or beside the panels, or labels at the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.plot.backend import literal, name_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tbq.plot.scalars import Chart

MOST = 20  # entries
_INSIDE = 6
_DIRECT = 6
_DIRECT_LETTERS = 22


def labels_of(chart: Chart) -> list[str]:
    """What the lines of all panels are called, each once."""
    return list(dict.fromkeys(line.label for panel in chart.panels for line in panel.lines))


def place_of(chart: Chart) -> str:
    """Where the legend goes: as asked for, else where it fits."""
    if chart.options.legend is not None:
        return chart.options.legend
    labels = labels_of(chart)
    if len(labels) < 2 and (chart.options.paper or not labels):
        return "none"
    if len(chart.panels) > 1:
        return "outside" if len(labels) > 1 else "none"
    if chart.options.paper and len(labels) <= _DIRECT and max(map(len, labels)) <= _DIRECT_LETTERS:
        return "direct"
    return "inside" if len(labels) <= _INSIDE else "outside"


def room_aside(chart: Chart, columns: int) -> float:
    """Inches that a legend beside the panels takes."""
    if place_of(chart) != "outside" or chart.options.paper:
        return 0.0
    longest = max((len(name_text(label)) for label in labels_of(chart)), default=0)
    return min(0.5 + 0.068 * longest, 3.5) if columns else 0.0


def legends(figure: Figure, axes: Sequence[Axes], chart: Chart) -> None:
    """Draw the legend."""
    place = place_of(chart)
    if place == "none":
        return
    if place == "direct":
        fitted = [_direct(ax) for ax in axes]
        if all(fitted):
            return
        for ax in axes:
            for text in [each for each in ax.texts if each.get_label() == "end"]:
                text.remove()
        place = "outside" if len(axes) > 1 else "inside"
    handles, labels = _entries(axes, chart)
    options: dict[str, Any] = {}
    if place == "inside":
        made = axes[0].legend(handles, labels, loc="best")
    elif chart.options.paper:
        widest = max(map(len, labels), default=1)
        options["ncols"] = max(1, min(len(labels), int(figure.get_figwidth() * 14 / (widest + 6))))
        made = figure.legend(handles, labels, loc="outside upper center", columnspacing=1.2, **options)
    else:
        made = figure.legend(handles, labels, loc="outside right upper")
    for text in made.get_texts():
        literal(text)


def _entries(axes: Sequence[Axes], chart: Chart) -> tuple[list[Any], list[str]]:
    """The line and the name of each group, at most `MOST` of them."""
    from matplotlib.lines import Line2D

    first: dict[str, Any] = {}
    for ax in axes:
        for drawn in ax.get_lines():
            if drawn.get_zorder() == 3:
                first.setdefault(str(drawn.get_label()), drawn)
    names = [name for name in dict.fromkeys(map(name_text, labels_of(chart))) if name in first]
    shown = names if len(names) <= MOST else names[: MOST - 1]
    handles = [first[name] for name in shown]
    if len(shown) < len(names):
        handles.append(Line2D([], [], ls="none"))
        shown = [*shown, f"… and {len(names) - len(shown):,} more"]
    return handles, shown


def _direct(ax: Axes) -> bool:
    """Labels at the ends of lines, pushed apart if they would overlap; False if they do not fit."""
    import matplotlib

    figure: Any = ax.figure
    ends: dict[str, tuple[float, float, str]] = {}
    for drawn in ax.get_lines():
        if drawn.get_zorder() != 3:
            continue
        x, y = np.asarray(drawn.get_xdata(), float), np.asarray(drawn.get_ydata(), float)
        there = np.flatnonzero(np.isfinite(y))
        if len(there):
            ends.setdefault(str(drawn.get_label()), (x[there[-1]], y[there[-1]], str(drawn.get_color())))
    if not ends:
        return True
    figure.draw_without_rendering()
    box = ax.get_window_extent()
    size = float(matplotlib.rcParams["legend.fontsize"])
    height = size * 1.15 * figure.dpi / 72
    if height * len(ends) > box.height:
        return False
    wanted = {name: float(ax.transData.transform((x, y))[1]) for name, (x, y, _) in ends.items()}
    wanted = {name: min(max(y, box.y0), box.y1) for name, y in wanted.items()}
    order = sorted(wanted, key=wanted.__getitem__)
    places = apart([wanted[name] for name in order], height, box.y0, box.y1)
    for name, place in zip(order, places, strict=True):
        _, _, colour = ends[name]
        text = ax.annotate(
            name,
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


def apart(places: Sequence[float], height: float, low: float, high: float) -> list[float]:
    """Ascending places moved as little as needed so that each is `height` from the next, from low to high.

    >>> apart([1.0, 1.0, 9.0], 2.0, 0.0, 10.0)
    [0.0, 2.0, 9.0]
    """
    blocks: list[list[float]] = []  # the sum of wished starts, the count, of labels that touch
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
