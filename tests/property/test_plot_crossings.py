"""Options of a chart in every combination: the drawing equals an independent computation, row by row in Python."""

from __future__ import annotations

import math
import statistics
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from tbq.errors import SelectionError, TbqWarning
from tbq.plot.options import PlotOptions
from tbq.plot.scalars import of_table
from tbq.table.table import Table

VALUES = st.sampled_from([0.5, 1.0, 2.0, 3.5, -1.0, 0.0, math.nan, math.inf, 8.0])
Row = tuple[str, str, int, float, float]


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    """Runs whose steps differ, repeat and go back; values that are not finite."""
    rows: list[Row] = []
    for run in draw(
        st.sampled_from([("a/0",), ("a/0", "a/1"), ("a/0", "a/1", "b/0"), ("b/1", "a/1", "a/0")])
    ):
        for tag in ("loss", "tokens"):
            steps = draw(st.lists(st.integers(0, 8), max_size=8))
            if draw(st.booleans()):
                steps = sorted(set(steps))
            rows += [(run, tag, step, 100.0 + 3 * i, draw(VALUES)) for i, step in enumerate(steps)]
    return rows


def smoothed(values: list[float], weight: float) -> list[float]:
    """TensorBoard's rule, as its page has it."""
    if len({v for v in values if math.isfinite(v)}) == 1 or not weight:
        return values
    last, count, out = 0.0, 0, []
    for value in values:
        if not math.isfinite(value):
            out.append(value)
            continue
        last = last * weight + (1 - weight) * value
        count += 1
        out.append(last / (1 - weight**count) if weight < 1 else last)
    return out


def expected(rows: list[Row], options: dict[str, Any]) -> dict[str, list[tuple[float, float, float, float]]]:
    """For each line its (x, y, low, high)."""
    began: dict[str, float] = {}
    for run, _, _, wall, _ in rows:
        began[run] = min(began.get(run, wall), wall)
    series: dict[str, list[tuple[int, float, float]]] = {}
    for run in dict.fromkeys(run for run, *_ in rows):
        ours = [row for row in rows if row[0] == run and row[1] == "loss"]
        values = smoothed([row[4] for row in ours], options["smooth"])
        axis: dict[int, float] = {}
        for row in rows:
            if row[0] == run and row[1] == "tokens" and math.isfinite(row[4]):
                axis[row[2]] = row[4]
        points = []
        for (_, _, step, wall, _), value in zip(ours, values, strict=True):
            x = {"step": float(step), "wall": wall, "relative": wall - began[run]}.get(options["x"])
            if x is None:
                x = between(axis, step)
            if x is None or (options["log_x"] and x <= 0):
                continue
            points.append((step, x, value))
        if points:
            series[run] = points
    if options["band"] == "none":
        return {run: [(x, y, math.nan, math.nan) for _, x, y in points] for run, points in series.items()}
    out: dict[str, list[tuple[float, float, float, float]]] = {}
    for group in sorted({run[0] for run in series}):
        cells: dict[int, dict[str, tuple[float, float]]] = {}
        for run, points in series.items():
            if run[0] == group:
                for step, x, y in points:
                    cells.setdefault(step, {})[run] = (x, y)
        out[group] = [summed(step, list(cells[step].values()), options) for step in sorted(cells)]
    return out


def between(axis: dict[int, float], step: int) -> float | None:
    below, above = [s for s in axis if s <= step], [s for s in axis if s >= step]
    if not below or not above:
        return None
    left, right = max(below), min(above)
    if left == right:
        return axis[left]
    return axis[left] + (axis[right] - axis[left]) * (step - left) / (right - left)


def summed(
    step: int, cells: list[tuple[float, float]], options: dict[str, Any]
) -> tuple[float, float, float, float]:
    x = float(step) if options["x"] == "step" else statistics.fmean(x for x, _ in cells)
    values = [y for _, y in cells if not math.isnan(y)]
    if not values:
        return x, math.nan, math.nan, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        mean = float(np.mean(values))
        if options["band"] == "minmax":
            return x, mean, min(values), max(values)
        if options["band"] == "quantiles":
            low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
            return x, middle, low, high
        std = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    reach = {"std": std, "sem": std / math.sqrt(len(values))}[options["band"]]
    return x, mean, mean - reach, mean + reach


@examples(150)
@given(
    logs(),
    st.fixed_dictionaries(
        {
            "x": st.sampled_from(["step", "relative", "wall", "tokens"]),
            "band": st.sampled_from(["none", "std", "sem", "minmax", "quantiles"]),
            "smooth": st.sampled_from([0.0, 0.6]),
            "log_x": st.booleans(),
            "log_y": st.booleans(),
            "each": st.booleans(),
        }
    ),
)
def test_lines_are_what_python_says(rows: list[Row], options: dict[str, Any]) -> None:
    names = ("run", "tag", "step", "wall_time", "value")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    table = Table(pa.table(columns, schema=pa.schema(
        [("run", pa.string()), ("tag", pa.string()), ("step", pa.int64()), ("wall_time", pa.float64()),
         ("value", pa.float64())]
    )))  # fmt: skip
    by = "run" if options["band"] == "none" else "re:(.)/.*"
    want = expected(rows, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)
        try:
            chart = of_table(table, "loss", None, PlotOptions.of({**options, "by": by}))  # type: ignore[typeddict-item]
        except SelectionError:
            assert not want
            return
    assert [panel.tag for panel in chart.panels] == ["loss"]
    lines = {line.name: line for line in chart.panels[0].lines}
    assert set(lines) == set(want)
    for name, points in want.items():
        line = lines[name]
        made = [
            line.x,
            line.y,
            *(np.full(len(line.x), np.nan) if end is None else end for end in (line.low, line.high)),
        ]
        for i, column in enumerate(made):
            target = np.array([point[i] for point in points])
            finite = np.isfinite(target)
            np.testing.assert_allclose(column[finite], target[finite], rtol=1e-9, atol=1e-12)
            if i == 1:
                assert np.array_equal(np.isfinite(column), finite)
