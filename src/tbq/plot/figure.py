"""Curves as a matplotlib figure: panels, lines, bands, marks at non-finite values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.errors import UsageError
from tbq.numbers import number
from tbq.plot import ranges
from tbq.plot.backend import LONGEST, fonts_for, literal, name_text, new_figure, points, styled
from tbq.plot.line_styles import LineStyle
from tbq.plot.lines import Line, Panel
from tbq.plot.scales import dress
from tbq.plot.sheet import side_by_side
from tbq.plot.style import settings, size_of
from tbq.table.pixels import envelope, grid, kept
from tbq.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tbq.plot.lines import Floats
    from tbq.plot.options import PlotOptions
    from tbq.plot.scalars import ScalarPanels

_MOST_VERTICES = 8000  # of a panel in a vector file, which has no pixels
_FEWEST_COLUMNS, _MOST_COLUMNS = 60, 4000
_BAND, _RAW, _MEMBER = 0.18, 0.3, 0.35  # opacities
_MOST_TAKEOVERS = 40
_MARKERS = 8  # of a line
_CROWD = 20  # lines of a panel; if there are more, lines are thinner
_MOST_VALUES, _VALUE_WIDTH = (
    4,
    0.2,
)  # of lines that leave the range, and the share of the width that one takes


def draw(chart: ScalarPanels, ax: Axes | None = None, vectors: bool = False) -> Figure | Axes:
    """The chart as a new figure, or drawn into the user's Axes; `vectors` for a file without pixels."""
    options, panels = chart.options, chart.panels
    if ax is not None:
        if len(panels) > 1:
            raise UsageError(f"ax: one Axes holds one tag, got {len(panels)}", hint="name one tag")
        draw_panel(ax, panels[0], chart, vectors)
        _titles(ax, panels[0], chart, alone=True)
        from tbq.plot.legend import legends

        own: Any = ax.figure
        legends(own, [ax], chart)
        return ax
    columns = side_by_side(options, len(panels), 2 if len(panels) == 4 else 3)
    rows = -(-len(panels) // columns)
    from tbq.plot.legend import labels_of, legends, room_above, room_aside

    texts = [*labels_of(chart), *map(chart.y_name, panels), options.title or "", chart.x_name]
    style = fonts_for(map(name_text, texts), settings(options))
    letters = style["legend.fontsize"]
    width, height = size_of(options, columns, rows, room_aside(chart, letters))
    with styled(style):
        if options.size[1] is None:
            height += room_above(chart, width, letters)
        figure = new_figure(style, (width, height))
        grid_of = figure.subplots(rows, columns, squeeze=False, sharex=False).ravel().tolist()
        for spare in grid_of[len(panels) :]:
            spare.remove()
        axes = grid_of[: len(panels)]
        for i, (each, panel) in enumerate(zip(axes, panels, strict=True)):
            draw_panel(each, panel, chart, vectors)
            _titles(each, panel, chart, alone=len(panels) == 1, bottom=i + columns >= len(panels))
        if options.title:
            literal(figure.suptitle(name_text(options.title, 200), x=0.01, ha="left"))
        if options.y_label is not None and len({panel.tag for panel in panels}) > 1:
            literal(figure.supylabel(name_text(options.y_label), fontsize=points("axes.labelsize")))
        legends(figure, axes, chart)
    return figure


def _titles(ax: Axes, panel: Panel, chart: ScalarPanels, alone: bool, bottom: bool = True) -> None:
    name = name_text(chart.y_name(panel))
    if panel.undivided is not None:
        if ax.get_subplotspec() is None or ax.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            literal(ax.yaxis.label)
            ax.set_ylabel(name)
    elif alone or chart.options.paper:
        literal(ax.yaxis.label)
        ax.set_ylabel(name)
    else:
        literal(ax.set_title(name))
    if bottom:
        literal(ax.xaxis.label)
        ax.set_xlabel(name_text(chart.x_name))


def draw_panel(ax: Axes, panel: Panel, chart: ScalarPanels, vectors: bool) -> None:
    """Draw the lines of a panel, with everything except names."""
    options = chart.options.of_tag(panel.tag)
    x_range = ranges.x_range(panel)
    values = [ranges.shown(line, options) for line in panel.lines]
    ranges.tell_gaps(panel, values, options)
    if options.log_x:
        ax.set_xscale("log")
    if options.log_y:
        ax.set_yscale("log")
    width = _columns(ax, panel, options, vectors)
    y_range = ranges.y_range(panel, options)
    ax.set_xlim(*ranges.spaced(*x_range, options.log_x, 0.015))
    ax.set_ylim(*y_range)
    ax.set_autoscale_on(False)
    for member in panel.members:
        shown, faint = ranges.shown(member, options), LineStyle(member.colour)
        _line(ax, member, shown, x_range, width, options, faint, _MEMBER, 0.45)
    for line in panel.lines:
        _band(ax, line, x_range, y_range, width, options)
    for line in panel.lines:
        if line.raw is not None:
            raw = ranges.positive(line.raw, options.log_y)
            _line(ax, line, raw, x_range, width, options, LineStyle(line.colour), _RAW, 0.6)
    labels = chart.labels(LONGEST)
    thickness = max(0.5, min(1.0, (_CROWD / max(len(panel.lines), 1)) ** 0.5))
    for line, shown in zip(panel.lines, values, strict=True):
        line_style = chart.line_styles[line.group]
        drawn = _line(ax, line, shown, x_range, width, options, line_style, 1.0, thickness)
        drawn.set_label(printable(labels[line.group]))
        drawn._tbq_group = line.group
        drawn.set_zorder(3)
    _marks(ax, panel, x_range, width, options)
    gone = ranges.leaving(panel, y_range, options)
    mark_leaving(ax, gone, options)
    said = [*filter(None, (ranges.resumed_words(panel), ranges.leaving_words(gone)))]
    if said:
        small = points("legend.fontsize") * 0.9
        words = ax.set_title("\n".join(said), loc="right", fontsize=small, fontweight="normal")
        literal(words).set(color=ax.xaxis.label.get_color(), alpha=0.75)
    _takeovers(ax, panel)
    dress(ax.xaxis, options.axis, options.log_x)
    dress(ax.yaxis, "value", options.log_y)


def _columns(ax: Axes, panel: Panel, options: PlotOptions, vectors: bool) -> int:
    """The number of pixel columns that curves are reduced to."""
    figure: Any = ax.figure
    inches = ax.get_position().width * figure.get_figwidth()
    if not vectors:
        return int(min(max(inches * figure.dpi, _FEWEST_COLUMNS), _MOST_COLUMNS))
    curves = len(panel.lines) * (1 + bool(options.smooth) + (options.band != "none") / 2) + len(panel.members)
    return int(min(max(_MOST_VERTICES / 4 / curves, _FEWEST_COLUMNS), inches * 72))


# Lines.


def _line(
    ax: Axes,
    line: Line,
    values: Floats,
    x_range: tuple[float, float],
    width: int,
    options: PlotOptions,
    line_style: LineStyle,
    opacity: float,
    thickness: float,
) -> Any:
    column = grid(line.x, *x_range, width, options.log_x)
    rows = kept(column, values, 4 * width)
    x, y = line.x[rows], values[rows]
    weight = _weight() * thickness
    alpha = opacity if opacity < 1 else None
    (drawn,) = ax.plot(x, y, color=line_style.colour, alpha=alpha, lw=weight, ls=line_style.dashes)
    if line_style.marker:
        drawn.set(
            marker=line_style.marker,
            markersize=weight * 3,
            markeredgewidth=0,
            markevery=_places(x, y, _MARKERS),
        )
    alone = _alone(np.isfinite(y))
    if alone.any():  # a point without neighbours has no line
        ax.plot(
            x[alone],
            y[alone],
            color=line_style.colour,
            alpha=opacity,
            ls="none",
            marker=line_style.marker or "o",
            ms=weight * 3.2,
            mew=0,
        )
    return drawn


def _places(x: Floats, y: Floats, count: int) -> list[int]:
    """The points with a marker, evenly over the line."""
    known = np.flatnonzero(np.isfinite(y))
    if not len(known):
        return []
    wanted = np.linspace(x[known[0]], x[known[-1]], count + 2)[1:-1]
    return sorted(set(known[np.searchsorted(x[known], wanted).clip(0, len(known) - 1)].tolist()))


def _alone(present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The points without a neighbour."""
    return np.asarray(present & ~np.append(False, present[:-1]) & ~np.append(present[1:], False))


def _weight() -> float:
    import matplotlib

    return float(matplotlib.rcParams["lines.linewidth"])


def _band(
    ax: Axes,
    line: Line,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    width: int,
    options: PlotOptions,
) -> None:
    if line.low is None or line.high is None:
        return
    low, high = line.low, line.high
    if options.log_y:  # on a log axis, a band that reaches below zero extends to the end
        low = np.where((low <= 0) & (high > 0), min(y_range[0], 1e-300) or 1e-300, low)
        low = np.where(low > 0, np.maximum(low, y_range[0] / 1e3), np.nan)
    center = ranges.shown(line, options)
    if options.ylim == (None, None):  # a band around a center outside the range would only hide the others
        outside = (center < y_range[0]) | (center > y_range[1])
        low, high = (np.where(outside, np.nan, end) for end in (low, high))
    rows, low, high = envelope(grid(line.x, *x_range, width, options.log_x), low, high, 2 * width)
    finite = np.isfinite(low) & np.isfinite(high)
    if finite.any():
        x = line.x[rows]
        ax.fill_between(x, low, high, where=finite, color=line.colour, alpha=_BAND, lw=0, zorder=2)
        alone = _alone(finite)
        if alone.any():  # a band at a single point has no width
            ax.vlines(
                x[alone],
                low[alone],
                high[alone],
                color=line.colour,
                alpha=2 * _BAND,
                lw=_weight() * 2,
                zorder=2,
            )


# Marks.


def _marks(ax: Axes, panel: Panel, x_range: tuple[float, float], width: int, options: PlotOptions) -> None:
    """Mark where values stop being finite: a cross on the axis for NaN, an arrow for infinities."""
    for kind, marker, at in ((np.isnan, "x", 0.0), (np.isposinf, "^", 1.0), (np.isneginf, "v", 0.0)):
        places: dict[str, list[Floats]] = {}
        for line in panel.broken:
            wanted = kind(line.y)
            places.setdefault(line.colour, []).append(line.x[wanted & ~np.append(False, wanted[:-1])])
        for colour, parts in places.items():
            begins = np.sort(np.concatenate(parts))
            if not len(begins):
                continue
            column = grid(begins, *x_range, max(width // 4, 1), options.log_x)
            _, first = np.unique(column, return_index=True)
            ax.plot(
                begins[first],
                np.full(len(first), at),
                transform=ax.get_xaxis_transform(),
                color=colour,
                ls="none",
                marker=marker,
                ms=_weight() * 3.2,
                mew=_weight() * 0.9,
                clip_on=False,
                zorder=6,
            )


def mark_leaving(ax: Axes, gone: list[ranges.Leaving], options: PlotOptions) -> None:
    """Mark where lines leave the range, with their farthest values."""
    small = points("legend.fontsize") * 0.9
    marked: dict[bool, list[float]] = {True: [], False: []}
    for each in sorted(gone, key=lambda each: -abs(each.value)):
        at = ax.transAxes.inverted().transform(ax.transData.transform((each.x, ax.get_ylim()[each.above])))[0]
        if not -0.01 <= at <= 1.01:
            continue
        is_mean = each.line.count is not None or options.band == "none"
        ax.plot(
            [each.x],
            [1.0 if each.above else 0.0],
            transform=ax.get_xaxis_transform(),
            color=each.line.colour,
            ls="none",
            marker="^" if each.above else "v",
            ms=_weight() * 3.4,
            mew=0,
            alpha=1.0 if is_mean else _MEMBER,
            clip_on=False,
            zorder=6,
        )
        if (
            not is_mean
            or len(marked[each.above]) >= _MOST_VALUES
            or any(abs(at - other) < _VALUE_WIDTH for other in marked[each.above])
        ):
            continue
        marked[each.above].append(at)
        beside = -1 if at > 0.8 else 1
        literal(
            ax.annotate(
                ("up to " if each.above else "down to ") + number(each.value).replace("-", "−"),
                (at, 1.0 if each.above else 0.0),
                xycoords="axes fraction",
                xytext=(4 * beside, -2 if each.above else 2),
                textcoords="offset points",
                color=each.line.colour,
                fontsize=small,
                va="top" if each.above else "bottom",
                ha="left" if beside > 0 else "right",
                bbox={"facecolor": ax.get_facecolor(), "alpha": 0.8, "linewidth": 0, "pad": 0.5},
                zorder=6,
            )
        )


def _takeovers(ax: Axes, panel: Panel) -> None:
    """Draw a thin dotted line where a later session took over."""
    places = [(x, line.colour) for line in panel.lines for x in line.takeovers if np.isfinite(x)]
    for x, colour in places[:_MOST_TAKEOVERS]:
        ax.axvline(x, color=colour, ls=(0, (1, 2)), lw=_weight() * 0.7, zorder=1)
