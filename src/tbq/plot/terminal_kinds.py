"""What a terminal shows of kinds that are not scalars: the last histogram as bars, the last image, a PR curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tbq.columns.codes import values_of
from tbq.errors import SelectionError, UsageError
from tbq.kinds.histograms import HistogramTable
from tbq.plot.blocks import half_blocks, histogram_bars
from tbq.plot.cells import Line, Span, clipped
from tbq.plot.chart import Chart, Curve, plot_width
from tbq.plot.colours import colours
from tbq.table.pixels import columns_of, grid

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.table.table import Table

_MOST = 6


def lines_of_table(table: Table, room: int, height: int, colour: bool) -> list[Line]:
    """The last value of each run and tag, one below the other."""
    arrow = table.to_arrow()
    last: dict[tuple[str, str], tuple[int, list[int]]] = {}
    keys = (values_of(arrow["run"]), values_of(arrow["tag"]), arrow["step"].to_pylist())
    for row, (run, tag, step) in enumerate(zip(*keys, strict=True)):
        if (run, tag) not in last or last[run, tag][0] != step:
            last[run, tag] = (step, [])
        last[run, tag][1].append(row)
    if not last:
        raise SelectionError(f"nothing to draw: there are no {table.kind}")
    if table.kind not in ("histograms", "images", "pr_curves") or (table.kind == "images" and not colour):
        what = "a terminal" if table.kind == "audio" else "a terminal without colours"
        raise UsageError(f"{what} cannot show {table.kind}", hint="write a file: -o picture.png")
    out: list[Line] = []
    for (run, tag), (step, rows) in list(last.items())[:_MOST]:
        out.append([Span(clipped(f"{tag}  {run}  step {step:,}", room), bold=True)])
        if table.kind == "histograms":
            out += histogram_bars(HistogramTable(arrow, "histograms").histogram(rows[0]), room, height - 1)
        elif table.kind == "images":
            size = f"{arrow['width'][rows[0]].as_py()} × {arrow['height'][rows[0]].as_py()}"
            out += half_blocks(arrow["data"][rows[0]].as_py() or b"", size, room, height - 1)
        else:
            out += _precision(arrow.take(rows), run, room, height - 1)
    if len(last) > _MOST:
        out.append([Span(f"… and {len(last) - _MOST:,} more", dim=True)])
    return out


def _precision(rows: pa.Table, run: str, room: int, height: int) -> list[Line]:
    """Precision over recall."""
    x, y = (np.array(rows[name].to_numpy(), float) for name in ("recall", "precision"))
    columns = plot_width(room) * 2
    drawn = columns_of(grid(x, 0.0, 1.0, columns), y, columns)
    curve = Curve(run, colours([run])[run], drawn)
    return Chart([curve], 0.0, 1.0, "value", legend=False, limits=(0.0, 1.0)).lines(room, height)
