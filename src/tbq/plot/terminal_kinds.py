"""Kinds other than scalars in a terminal: histograms as bars, images, PR curves, audio as a waveform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.errors import SelectionError, UsageError
from tbq.kinds.histograms import HistogramTable
from tbq.plot.blocks import half_blocks, histogram_bars, value_axis
from tbq.plot.cells import Line, Span, clipped
from tbq.plot.chart import Chart, Curve, plot_width
from tbq.plot.colours import PALETTE, colours, viridis
from tbq.plot.distributions import edges_of, series_of
from tbq.plot.samples import rows_by_step
from tbq.table.pixels import columns_of, grid

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.kinds.histograms import Histogram
    from tbq.table.table import Table

_MOST = 6
_BARS, _SHADES = " ▁▂▃▄▅▆▇█", " ░▒▓█"


def lines_of_table(table: Table, kind: str | None, room: int, height: int, colour: bool) -> list[Line]:
    """The last value of each run and tag, one below the other; for histograms, every step if `kind` names a picture."""
    if kind in ("ridge", "heatmap"):
        return _over_steps(HistogramTable(table.to_arrow(), "histograms"), kind, room, height, colour)
    if table.kind == "audio":
        return _audio(table, room, height)
    arrow = table.to_arrow()
    by_series = rows_by_step(arrow)
    if not by_series:
        raise SelectionError(f"nothing to draw: no {table.kind}")
    if table.kind == "images" and not colour:
        raise UsageError("a terminal without colours cannot show images", hint="write a file: -o picture.png")
    out: list[Line] = []
    for (run, tag), steps in list(by_series.items())[:_MOST]:
        step = max(steps)
        rows = steps[step]
        out.append([Span(clipped(f"{tag}  {run}  step {step:,}", room), bold=True)])
        if table.kind == "histograms":
            out += histogram_bars(HistogramTable(arrow, "histograms").histogram(rows[-1]), room, height - 1)
        elif table.kind == "images":
            size = f"{arrow['width'][rows[-1]].as_py()} × {arrow['height'][rows[-1]].as_py()}"
            out += half_blocks(arrow["data"][rows[-1]].as_py() or b"", size, room, height - 1)
        else:
            out += _precision(arrow.take(rows), run, room, height - 1)
    if len(by_series) > _MOST:
        out.append([Span(f"… and {len(by_series) - _MOST:,} more", dim=True)])
    return out


def _precision(rows: pa.Table, run: str, room: int, height: int) -> list[Line]:
    """Precision over recall."""
    x, y = (np.array(rows[name].to_numpy(), float) for name in ("recall", "precision"))
    columns = plot_width(room) * 2
    drawn = columns_of(grid(x, 0.0, 1.0, columns), y, columns)
    curve = Curve(run, colours([run])[run], drawn)
    return Chart([curve], 0.0, 1.0, "value", legend=False, limits=(0.0, 1.0)).lines(room, height)


def _audio(table: Table, room: int, height: int) -> list[Line]:
    """The waveform of the last clip of each run and tag, over seconds."""
    from tbq.plot.strips import clips_of

    out: list[Line] = []
    columns = plot_width(room) * 2
    for name, rate, values in clips_of(table, _MOST):
        out.append([Span(clipped(f"{name} · {rate:,} Hz", room), bold=True)])
        x = np.arange(len(values)) / rate
        end = max(float(x[-1]), 1e-9)
        curve = Curve(name, PALETTE[0], columns_of(grid(x, 0.0, end, columns), values, columns))
        reach = float(np.abs(values).max()) or 1.0
        out += Chart([curve], 0.0, end, "value", legend=False, limits=(-reach, reach)).lines(room, height - 1)
    return out


def _over_steps(table: HistogramTable, kind: str, room: int, height: int, colour: bool) -> list[Line]:
    """One block per run and tag: a line per step, as small bars or as a heat map."""
    series = series_of(table)
    out: list[Line] = []
    for (run, tag), histograms in list(series.items())[:_MOST]:
        out.append([Span(clipped(f"{tag}  {run}", room), bold=True)])
        out += _block(histograms, kind, room, height - 1, colour)
    if len(series) > _MOST:
        out.append([Span(f"… and {len(series) - _MOST:,} more", dim=True)])
    return out


def _block(
    histograms: list[tuple[int, Histogram]], kind: str, room: int, height: int, colour: bool
) -> list[Line]:
    """Steps from first to last, evenly chosen, one per available line."""
    lines = min(max(height - 1, 1), len(histograms))
    places = np.linspace(0, len(histograms) - 1, lines).round().astype(int).tolist()
    chosen = [histograms[i] for i in places]
    gutter = max(len(f"{step:,}") for step, _ in chosen)
    gutter = min(gutter, room // 2)
    plot = room - gutter - 1
    edges = edges_of(histograms, plot)
    shares = np.array([each.over(edges) / each.total for _, each in chosen])
    largest = float(shares.max()) or 1.0
    out: list[Line] = []
    for (step, _), row in zip(chosen, shares / largest, strict=True):
        label = Span(f"{clipped(f'{step:,}', gutter):>{gutter}}│", dim=True)
        out.append([label, *(_heat(row, colour) if kind == "heatmap" else [Span(_letters(row, _BARS))])])
    axis = value_axis(float(edges[0]), float(edges[-1]), plot)
    out.append([Span(f"{' ' * gutter}└{axis}", dim=True)])
    return out


def _letters(shares: Any, letters: str) -> str:
    """A character for each share; only an empty share is blank."""
    last = len(letters) - 1
    return "".join(letters[min(int(np.ceil(share * last)), last)] for share in shares.tolist())


def _heat(shares: Any, colour: bool) -> Line:
    if not colour:
        return [Span(_letters(shares, _SHADES))]
    line: Line = []
    for share in np.round(shares * 32) / 32:  # few colours, so that neighbours join into one piece
        ground = viridis(float(share))
        if line and line[-1].ground == ground:
            line[-1] = line[-1]._replace(text=line[-1].text + " ")
        else:
            line.append(Span(" ", ground=ground))
    return line
