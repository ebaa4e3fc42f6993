"""A chart in a terminal: curves in braille with axes, ticks, marks and a legend, as lines of styled text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tbq.labels import labels
from tbq.numbers import compact, number
from tbq.plot import ticks
from tbq.plot.canvas import UNOWNED, Canvas, rows_of
from tbq.plot.cells import Line, Span, cell_len, clipped, filled, width
from tbq.plot.colours import RED
from tbq.plot.ranges import usual_range
from tbq.table.pixels import Columns as Columns
from tbq.table.pixels import grid
from tbq.table.sparks import BROKEN as BROKEN
from tbq.text import GAP, printable

if TYPE_CHECKING:
    from tbq.plot.canvas import Floats
    from tbq.roles import Better

Axis = Literal["step", "relative", "wall", "value"]
_FEWEST = 12  # the least width of a plot in cells, if the terminal is wide enough
_LONGEST = 24  # cells of a name in the legend
NOISE = 4e-7  # relative difference below which 32-bit numbers count as equal
_NOISE_64 = 1e-15


@dataclass(frozen=True)
class Curve:
    """One series of a chart."""

    name: str
    colour: str | None
    columns: Columns
    raw: Columns | None = None  # before smoothing, drawn faintly behind
    broken: float = math.nan  # x of the first non-finite value
    takeovers: Sequence[float] = ()  # x where a later session took over
    value: float | None = None  # the last value, for the legend
    strong: bool = False  # drawn over the other curves
    letter: str = ""  # marks its end, for terminals without colour
    pieces: Sequence[Columns] = ()  # drawn instead of `columns`, with gaps between them
    raw_pieces: Sequence[Columns] = ()  # the pieces of `raw`
    breaks: Sequence[float] = ()  # x of the first non-finite value of each gap
    band: tuple[Floats, Floats] | None = None  # its ends in each column, drawn as sparse dots


@dataclass(frozen=True)
class Chart:
    """Curves on one grid of x from `low` to `high`; each has two columns per cell of `plot_width`."""

    curves: Sequence[Curve]
    low: float
    high: float
    axis: Axis = "step"
    log: bool = False
    hidden: int = 0  # curves that were left out
    log_x: bool = False
    legend: bool = True  # a last line with names and values
    limits: tuple[float, float] | None = None  # of the y axis
    span: tuple[float, float] | None = None  # of the values to show, instead of the usual range of the curves
    marked: bool = True  # marks where curves leave the range
    full: bool = False  # the range covers outliers too
    better: Better | None = None  # which values are better, if that is known
    noise: float = NOISE  # relative difference below which values count as equal

    def lines(self, width: int, height: int) -> list[Line]:
        """The chart in exactly `width` × `height` cells; the columns must be those of `plot_width(width)`."""
        if width < 4 or height < 2:
            return [filled([], width) for _ in range(height)]
        legend = self.legend and height >= 6
        body = height - 1 - legend
        low, high = self._range()
        plot = plot_width(width)
        marks = self._value_ticks(low, high, body)
        canvas = Canvas(plot, body)
        self._draw(canvas, low, high)
        edges = self._edges(plot)
        names = dict(zip((row for _, row in marks), (label for label, _ in marks), strict=True))
        out: list[Line] = []
        lettered = any(curve.letter for curve in self.curves)
        gutter = width - plot - 1 - lettered
        ends = self._ends(low, high, body) if lettered else {}
        for row, pieces in enumerate(canvas.rows()):
            label = names.get(row)
            line = [
                Span(f"{_ending(label or '', gutter):>{gutter}}", dim=True),
                Span("┤" if label else "│", dim=True),
                *(self._styled(text, owner) for text, owner in pieces),
            ]
            if row in (0, body - 1) and body > 1:
                line[2:] = _over(line[2:], edges[row == 0])
            if lettered:
                line.append(Span(ends.get(row, " "), bold=True))
            out.append(filled(line, width))
        out.append(filled(self._x_axis(gutter, plot), width))
        if legend:
            out.append(filled(self._legend(width), width))
        return out

    # The scale.

    def _range(self) -> tuple[float, float]:
        """The range of the axis: what is drawn, rounded so that it seldom changes; exponents for a log axis."""
        if self.limits is not None:
            low, high = self._scaled(np.array(self.limits)).tolist()
            return low, high
        low, high = self._scaled(np.array(self.span or self._usual())).tolist()
        if not (math.isfinite(low) and math.isfinite(high)):
            return math.nan, math.nan
        if self.log:
            return (low, high) if high > low else (low - 0.5, high + 0.5)
        if high - low <= self.noise * max(abs(low), abs(high)):
            space = abs(low) / 2 or 1.0
            return (low - space, high + space) if math.isfinite(low + space) else (low, high)
        if not math.isfinite(high - low):
            return low, high
        size = ticks.step_size(high - low, 5) / 2
        if not 0 < size < math.inf or not math.isfinite(low / size) or not math.isfinite(high / size):
            return low, high
        rounded = math.floor(low / size + 1e-9) * size, math.ceil(high / size - 1e-9) * size
        return rounded if all(map(math.isfinite, rounded)) else (low, high)

    def _usual(self) -> tuple[float, float]:
        curves = [
            _points(columns) for curve in self.curves for columns in (curve.columns, curve.raw) if columns
        ]
        if not self.full:
            return usual_range(curves, self.log, self.better) or (math.nan, math.nan)
        every = np.concatenate([*curves, np.zeros(0)])
        every = every[np.isfinite(every) & ((every > 0) | (not self.log))]
        return (float(every.min()), float(every.max())) if len(every) else (math.nan, math.nan)

    def leaving(self) -> list[tuple[Curve, bool, float, int]]:
        """The curves that leave the range, each with whether above, its farthest value, and its first column there."""
        low, high = self._range()
        out = []
        for curve in self.curves if self.marked else ():
            top, bottom = self._scaled(curve.columns.max), self._scaled(curve.columns.min)
            for above, values, far in (
                (True, curve.columns.max, top > high),
                (False, curve.columns.min, bottom < low),
            ):
                far &= np.isfinite(values)
                if self.log:
                    far &= values > 0
                if far.any():
                    value = float(values[far].max() if above else values[far].min())
                    out.append((curve, above, value, int(np.argmax(far))))
        return out

    def _edges(self, plot: int) -> dict[bool, dict[int, Span]]:
        """The marks of curves that leave the range, by cell, of the top row (True) and the bottom row."""
        marks: dict[bool, dict[int, Span]] = {True: {}, False: {}}
        for curve, above, value, column in sorted(self.leaving(), key=lambda each: -abs(each[2])):
            text = f"{'▲' if above else '▼'}{compact(value) if abs(value) >= 1000 else number(value)}"
            start = min(column // 2, plot - len(text))
            cells = range(start, start + len(text))
            if start >= 0 and marks[above].keys().isdisjoint(range(start - 1, cells.stop + 1)):
                marks[above].update(
                    {
                        cell: Span(letter, curve.colour, bold=True)
                        for cell, letter in zip(cells, text, strict=True)
                    }
                )
        return marks

    def _scaled(self, values: Floats) -> Floats:
        if not self.log:
            return values
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(values > 0, np.log10(values), np.where(np.isnan(values), np.nan, -np.inf))

    def _value_ticks(self, low: float, high: float, height: int) -> list[tuple[str, int]]:
        """Labels and their rows."""
        most = max(2, min(height // 2, 4 + height // 6))
        if self.log:
            try:
                values = ticks.logarithmic(10.0**low, 10.0**high, most)
            except OverflowError:
                values = []
            labels = ticks.log_labels(values)
            places = [math.log10(value) for value in values]
        else:
            values = places = ticks.linear(low, high, most)
            labels = ticks.labels(values)
        if not values:
            return []
        rows = rows_of(np.array(places, dtype=np.float64), low, high, height * 4) // 4
        return [(label, int(row)) for label, row in zip(labels, rows, strict=True)]

    # The drawing.

    def _draw(self, canvas: Canvas, low: float, high: float) -> None:
        order = sorted(range(len(self.curves)), key=lambda i: self.curves[i].strong)
        for i in order:
            for part in self.curves[i].pieces or [self.curves[i].columns]:
                self._draw_columns(canvas, part, low, high, i, only_free=False)
        for i in reversed(order):
            raw = self.curves[i].raw
            if raw is not None:
                for part in self.curves[i].raw_pieces or [raw]:
                    self._draw_columns(canvas, part, low, high, i + len(self.curves), only_free=True)
        for i in reversed(order):
            for x in self.curves[i].takeovers:
                column = self._column(x, canvas.width * 2)
                if column is not None:
                    canvas.dotted(column, i + len(self.curves))
        for i in order:
            band = self.curves[i].band
            if band is not None:
                bottom, top = (rows_of(self._scaled(end), low, high, canvas.height * 4) for end in band)
                for part in self.curves[i].pieces or [self.curves[i].columns]:
                    filled = ~np.isnan(part.min)
                    canvas.shade(
                        np.where(filled, top, np.nan), np.where(filled, bottom, np.nan), i + len(self.curves)
                    )

    def _draw_columns(
        self, canvas: Canvas, columns: Columns, low: float, high: float, owner: int, only_free: bool
    ) -> None:
        height = canvas.height * 4
        first, last, bottom, top = (
            rows_of(self._scaled(each), low, high, height, clip=False)
            for each in (columns.first, columns.last, columns.min, columns.max)
        )
        canvas.curve(first, last, top, bottom, owner, only_free=only_free)

    def _styled(self, text: str, owner: int) -> Span:
        if owner == UNOWNED:
            return Span(text)
        curve = self.curves[owner % len(self.curves)]
        faint = owner >= len(self.curves)
        return Span(text, curve.colour, bold=curve.strong and not faint, dim=faint)

    def _ends(self, low: float, high: float, height: int) -> dict[int, str]:
        ends: dict[int, str] = {}
        for curve in sorted(self.curves, key=lambda curve: not curve.strong):
            values = curve.columns.last[~np.isnan(curve.columns.last)]
            if curve.letter and len(values):
                row = int(rows_of(self._scaled(values[-1:]), low, high, height * 4)[0]) // 4
                ends.setdefault(row, curve.letter)
        return ends

    def _column(self, x: float, columns: int) -> int | None:
        """The column of dots of an x; None if it is outside the axis."""
        if not self.low <= x <= self.high:
            return None
        if self.log_x:
            return int(grid(np.array([x]), self.low, self.high, columns, True)[0])
        span = self.high / 2 - self.low / 2  # halves, because the span of two finite numbers may be infinite
        return min(int((x / 2 - self.low / 2) / span * columns), columns - 1) if span > 0 else 0

    def _x_axis(self, gutter: int, plot: int) -> Line:
        """The axis with its labels, and a mark at each x where values stop being finite."""
        most = max(2, plot // 7)
        if self.log_x:
            places = ticks.logarithmic(self.low, self.high, most)
            labels = ticks.log_labels(places)
        elif self.axis == "value":
            places = ticks.linear(self.low, self.high, most)
            labels = ticks.labels(places)
        elif self.axis == "step":
            places = ticks.linear(self.low, self.high, most)
            places = [place for place in places if place == int(place)] or places[:1]
            labels = ticks.log_labels(places) if all(abs(p) < 1e15 for p in places) else ticks.labels(places)
        elif self.axis == "relative":
            places = ticks.times(self.low, self.high, most)
            labels = ticks.time_labels(places)
        else:
            places = ticks.times(self.low, self.high, most, ticks.local_offset(self.low))
            labels = ticks.clock_labels(places)
        broken = {
            at // 2: curve.colour
            for curve in self.curves
            for x in (curve.broken, *curve.breaks)
            if (at := self._column(x, plot * 2)) is not None
        }
        letters = ["─"] * plot
        occupied = set(broken)
        for place, label in zip(places, labels, strict=True):
            at = self._column(place, plot * 2)
            if at is None or len(label) > plot:
                continue
            start = min(max(at // 2 - (len(label) - 1) // 2, 0), plot - len(label))
            cells = range(start, start + len(label))
            if occupied.isdisjoint(cells):
                letters[cells.start : cells.stop] = label
                occupied.update(range(start - 1, cells.stop + 1))
        line = [Span(" " * gutter + "└", dim=True)]
        for i, letter in enumerate(letters):
            line.append(Span(BROKEN, broken[i] or RED, bold=True) if i in broken else Span(letter, dim=True))
        return _merged(line)

    def _legend(self, room: int) -> Line:
        """The names of curves with their last values, strong curves first, as many as fit."""
        line: Line = []
        order = sorted(range(len(self.curves)), key=lambda i: not self.curves[i].strong)
        names = labels([printable(curve.name) for curve in self.curves], _LONGEST, cell_len)
        shown = 0
        for i in order:
            curve = self.curves[i]
            value = "" if curve.value is None else f" {number(curve.value)}"
            remaining = len(order) - shown - 1 + self.hidden
            more = f" +{remaining}" if remaining else ""
            key = f"{curve.letter or '━'} "
            space = room - width(line) - len(key) - len(value) - len(more) - bool(line) * 2
            name = clipped(names[i], space)
            if space < min(6, len(names[i])):
                break
            line += [Span("  ")] * bool(line)
            line += [Span(key, curve.colour, bold=True), Span(name, bold=curve.strong), Span(value, dim=True)]
            shown += 1
        remaining = len(order) - shown + self.hidden
        if remaining:
            line.append(Span(f" +{remaining}", dim=True))
        return line


def noise_of(logged: Iterable[Floats]) -> float:
    """The relative difference below which logged values count as equal: 32 bits must tell the values of a run apart.

    >>> noise_of([np.array([0.1, 0.1 + 1e-9])]), noise_of([1.7e9 + np.arange(9.0)])
    (1e-15, 1e-15)
    >>> noise_of([np.array([1.0, 1 + 2**-23])])
    4e-07
    """
    for values in logged:
        finite = values[np.isfinite(values)]
        with np.errstate(over="ignore", under="ignore"):
            near = len(finite) and np.ptp(finite) <= NOISE * np.abs(finite).max()
            if near and len(np.unique(finite.astype(np.float32))) < len(np.unique(finite)):
                return _NOISE_64
    return NOISE


def _points(columns: Columns) -> Floats:
    """The smallest and largest values of columns, in the order of x."""
    return np.column_stack([columns.min, columns.max]).ravel()


def _ending(label: str, room: int) -> str:
    """The end of a label that does not fit: long labels of an axis differ in their last digits.

    >>> _ending("1,700,000,015", 7), _ending("1.5", 7)
    ('…00,015', '1.5')
    """
    return label if len(label) <= room else f"{GAP}{label[len(label) - room + 1 :]}"[: max(room, 0)]


def _over(line: Line, marks: dict[int, Span]) -> Line:
    """The line with marks in some of its cells."""
    if not marks:
        return line
    cells = [span._replace(text=letter) for span in line for letter in span.text]
    return _merged([marks.get(i, span) for i, span in enumerate(cells)])


def plot_width(width: int) -> int:
    """The width of a chart's plot area in cells; its grid has twice as many columns."""
    return max(width - 7, min(_FEWEST, width - 3), 1)


def _merged(line: Line) -> Line:
    """Join neighbours of the same style into one piece."""
    out: Line = []
    for span in line:
        if out and out[-1]._replace(text="") == span._replace(text=""):
            out[-1] = span._replace(text=out[-1].text + span.text)
        else:
            out.append(span)
    return out
