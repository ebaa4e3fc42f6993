"""Curves as text: panels side by side in braille, with one legend below them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.arguments import whole
from tbq.numbers import number
from tbq.plot.cells import Line as Cells
from tbq.plot.cells import Span, cell_len, clipped, filled, painted, width
from tbq.plot.chart import NOISE, Chart, Curve, noise_of, plot_width
from tbq.plot.lines import Line, Panel
from tbq.plot.pictures import chart_or_table
from tbq.plot.ranges import drawn_range, left_words, positive, resumed_words, x_range, y_range
from tbq.plot.scalars import ScalarPanels as Scalars
from tbq.table.pixels import Columns, columns_of, grid
from tbq.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tbq.decode.reader import Reader
    from tbq.plot.lines import Floats
    from tbq.plot.options import PlotOptions
    from tbq.select import Names

_NARROW, _LARGEST = 20, 1000
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MOST_NAMES = 24


def text(
    reader: Reader,
    tag: Names,
    run: Names,
    options: PlotOptions,
    reading: dict[str, Any],
    room: int,
    height: int | None,
    colour: bool,
) -> str:
    """The picture of a log for a terminal."""
    room = whole("width", room, least=_NARROW, most=_LARGEST)
    if height is not None:
        height = whole("height", height, least=6, most=_LARGEST)
    reading = dict(reading)
    steps = reading.pop("steps", None)
    options = replace(options, style=(*options.style, "dark"))  # the dark palette suits any background
    if options.kind in ("scatter", "parallel"):
        from tbq.plot.hyper import trials
        from tbq.plot.terminal_hyper import lines_of_trials

        return painted(
            lines_of_trials(trials(reader, tag, run, steps, options, reading), room, height), colour
        )
    drawn = chart_or_table(reader, tag, run, steps, options, reading)
    if isinstance(drawn, tuple):
        from tbq.kinds.tables import table
        from tbq.plot.terminal_kinds import lines_of_table

        rows = table(reader, drawn[0], tag, run=run, steps=steps, **reading)
        return painted(lines_of_table(rows, options.kind, room, height or 16, colour), colour)
    if options.kind == "difference":
        return painted(_difference(drawn, room, height, colour), colour)
    return painted(lines_of(drawn, room, height, colour), colour)


def lines_of(chart: Scalars, room: int, height: int | None, colour: bool) -> list[Cells]:
    """The panels and their legend; `height` is the total number of lines, if set."""
    panels, options = chart.panels, chart.options
    columns = options.panels or (
        1 if len(panels) == 1 or room < 100 else 3 if room >= 180 and len(panels) > 4 else 2
    )
    columns = min(columns, len(panels), max(room // _NARROW, 1))
    each = (room - 2 * (columns - 1)) // columns
    groups = list(dict.fromkeys(line.group for panel in panels for line in panel.lines))
    alike = len({line.colour for line in chart.lines.values()}) < len(groups)
    letters = dict(zip(groups, _LETTERS, strict=False)) if len(groups) > 1 and (alike or not colour) else {}
    legend = [] if options.legend == "none" else _legend(chart, letters, room)
    rows = -(-len(panels) // columns)
    tall = 14 if rows > 1 else 20
    if height is not None:
        tall = max((height - len(legend) - bool(options.title)) // rows, 6)
    out: list[Cells] = []
    if options.title:
        out.append([Span(clipped(options.title, room), bold=True)])
    for row in range(rows):
        blocks = [
            _panel(panel, chart, each, tall, letters) for panel in panels[row * columns : (row + 1) * columns]
        ]
        for parts in zip(*blocks, strict=True):
            line: Cells = []
            for i, part in enumerate(parts):
                line += [*([Span("  ")] if i else []), *part]
            out.append(line)
    return out + legend


def _difference(chart: Scalars, room: int, height: int | None, colour: bool) -> list[Cells]:
    """The curves of two runs, and below them the second minus the first."""
    from tbq.plot.difference import below_options, difference_panel, of_both

    chart = of_both(chart)
    below = [difference_panel(panel, chart.options) for panel in chart.panels]
    plain = replace(below_options(chart.options), title=None, legend="none")
    upper = None if height is None else max(height * 2 // 3, 6)
    lower = 10 if upper is None else max((height or 0) - upper, 6)
    return [
        *lines_of(chart, room, upper, colour),
        *lines_of(Scalars(below, plain), room, lower, colour),
    ]


def _panel(panel: Panel, chart: Scalars, room: int, height: int, letters: dict[str, str]) -> list[Cells]:
    options = chart.options.of_tag(panel.tag)
    low, high = x_range(panel)
    columns = plot_width(room) * 2
    breaks = _breaks(panel, columns)
    curves = [
        _curve(line, low, high, columns, options, letters.get(line.group, ""), breaks.get(line.name, []))
        for line in panel.lines
    ]
    curves += [_member(line, low, high, columns, options) for line in panel.members]
    chosen = bool(options.outliers) or options.ylim != (None, None)
    drawn = Chart(
        curves,
        low,
        high,
        options.axis,
        options.log_y,
        log_x=options.log_x,
        legend=False,
        limits=y_range(panel, options) if chosen else None,
        span=drawn_range(panel, options),
        marked=options.ylim == (None, None),
        # A difference of 32-bit numbers may need more bits, and is noise nevertheless.
        noise=NOISE if options.kind == "difference" else noise_of(panel.runs),
    )
    title: Cells = [Span(clipped(chart.y_name(panel), room - 2), bold=True)]
    words = [f"over {chart.x_name}"] if options.x != "step" or options.x_label is not None else []
    words += [*filter(None, [resumed_words(panel)])]
    gone = {curve.name for curve, *_ in drawn.leaving()}
    if gone:
        words.append(left_words(len(gone), "run" if options.band == "none" else "group"))
    hint = "--outliers 0 shows all"
    if gone and width(title) + len(" · ".join([*words, hint])) + 2 <= room:
        words.append(hint)
    about = clipped(" · ".join(words), max(room - width(title) - 2, 1))
    if words and len(about) > 6:
        title.append(Span(f"  {about}", dim=True))
    return [filled(title, room), *drawn.lines(room, height - 1)]


def _breaks(panel: Panel, most: int) -> dict[str, list[float]]:
    """The x of each line where values stop being finite: in the line itself, or in the runs behind a mean."""
    means = any(line.count is not None for line in panel.lines)
    breaks: dict[str, list[Floats]] = {}
    for line in panel.broken:
        lost = ~np.isfinite(line.y)
        begins = line.x[lost & ~np.append(False, lost[:-1])]
        breaks.setdefault(line.group if means else line.name, []).append(begins)
    return {name: np.unique(np.concatenate(parts))[:most].tolist() for name, parts in breaks.items()}


def _curve(
    line: Line,
    low: float,
    high: float,
    columns: int,
    options: PlotOptions,
    letter: str,
    breaks: Sequence[float],
) -> Curve:
    at = grid(line.x, low, high, columns, options.log_x)
    finite = np.isfinite(line.y)
    drawn = columns_of(at, positive(line.y, options.log_y), columns)
    band = None
    if line.low is not None and line.high is not None:
        band = columns_of(at, line.low, columns).min, columns_of(at, line.high, columns).max
        if options.log_y:
            band = np.where(band[0] > 0, band[0], np.where(band[1] > 0, 5e-324, np.nan)), band[1]
    known = line.y[finite]
    raw = None if line.raw is None else columns_of(at, positive(line.raw, options.log_y), columns)
    return Curve(
        line.name,
        line.colour,
        drawn,
        raw,
        pieces=_pieces(drawn, at[~finite]),
        raw_pieces=[] if raw is None else _pieces(raw, at[~finite]),
        breaks=breaks,
        band=band,
        takeovers=line.takeovers,
        value=float(known[-1]) if len(known) else None,
        letter=letter,
    )


def _member(line: Line, low: float, high: float, columns: int, options: PlotOptions) -> Curve:
    """A run behind its group's mean, drawn faintly like unsmoothed values."""
    at = grid(line.x, low, high, columns, options.log_x)
    drawn = columns_of(at, positive(line.y, options.log_y), columns)
    nothing = Columns(*(np.full(columns, np.nan) for _ in range(4)))
    gaps = _pieces(drawn, at[~np.isfinite(line.y)])
    return Curve(line.name, line.colour, nothing, drawn, raw_pieces=gaps)


def _pieces(columns: Columns, broken: Any) -> list[Columns]:
    """The curve, cut at columns with only non-finite values."""
    empty = np.isnan(columns.min)
    gaps = np.unique(broken[broken >= 0])
    gaps = gaps[empty[gaps]]
    if not len(gaps):
        return []
    owner = np.searchsorted(gaps, np.arange(len(empty)))
    pieces = []
    for number_of in np.unique(owner[~empty]).tolist():
        owned = owner == number_of
        pieces.append(Columns(*(np.where(owned, each, np.nan) for each in columns)))
    return pieces


def _legend(chart: Scalars, letters: dict[str, str], room: int) -> list[Cells]:
    """The names of groups in as many columns as fit, with their last values if there is one panel."""
    last, labels = chart.lines, chart.labels(max(room - 14, 8), cell_len)
    entries: list[Cells] = []
    for group, line in list(last.items())[:_MOST_NAMES]:
        value = _last(line) if len(chart.panels) == 1 and not _several(chart, group) else ""
        key = letters.get(group, "━")
        entries.append([Span(f"{key} ", line.colour, bold=True), Span(printable(labels[group])),
                        Span(f"  {value}" if value else "", dim=True)])  # fmt: skip
    if len(last) > _MOST_NAMES:
        entries.append([Span(f"… and {len(last) - _MOST_NAMES:,} more", dim=True)])
    widest = min(max(map(width, entries), default=1), room)
    columns = max(1, (room + 3) // (widest + 3))
    rows = -(-len(entries) // columns)
    return [
        [span for entry in entries[row::rows] for span in [*filled(entry, widest), Span("   ")]][:-1]
        for row in range(rows)
    ]


def _several(chart: Scalars, group: str) -> bool:
    return sum(line.group == group for line in chart.panels[0].lines) > 1


def _last(line: Line) -> str:
    return number(float(line.y[-1])) if len(line.y) else ""
