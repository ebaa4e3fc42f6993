"""Histograms over steps in a terminal: one line per step, as small bars or as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.plot.blocks import value_axis
from tbq.plot.cells import Line, Span, clipped
from tbq.plot.colours import viridis
from tbq.plot.distributions import edges_of, series_of

if TYPE_CHECKING:
    from tbq.kinds.histograms import Histogram, HistogramTable

_BARS, _SHADES = " ▁▂▃▄▅▆▇█", " ░▒▓█"


def lines_of_histograms(
    table: HistogramTable, kind: str, room: int, height: int, colour: bool, most: int
) -> list[Line]:
    """One block per run and tag."""
    series = series_of(table)
    out: list[Line] = []
    for (run, tag), histograms in list(series.items())[:most]:
        out.append([Span(clipped(f"{tag}  {run}", room), bold=True)])
        out += _block(histograms, kind, room, height - 1, colour)
    if len(series) > most:
        out.append([Span(f"… and {len(series) - most:,} more", dim=True)])
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
