"""Any table with any options is drawn, or refused by tbq: no error or warning of matplotlib or NumPy, and no
line in a terminal that is too wide."""

from __future__ import annotations

import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from tbq.errors import TbqError, TbqWarning
from tbq.plot.cells import width
from tbq.plot.options import PlotOptions
from tbq.plot.scalars import of_table
from tbq.plot.terminal import lines_of
from tbq.table.table import Table

POOLS = [
    [0.5, 1.0, 2.0, -1.0, 0.0], [math.nan], [math.inf, -math.inf, 1.0], [1e300, -1e300, 1e-300], [1.7e308, -1.7e308],
    [5e-324, 0.0], [1.0], [0.1, 0.1000000001], [-5.0, -3.0],
]  # fmt: skip
RUNS = [
    "a/seed=0",
    "a/seed=1",
    "b/seed=0",
    "損失 é/1",
    "x\ny",
    "$\\frac{",
    "<b>&",
    "",
    "a" * 300,
    "\x1b[31m",
    "q--r''",
]
TAGS = ["loss", "tokens", "x$_{"]
STEPS = [
    lambda i, n: i,
    lambda i, n: i // 2,
    lambda i, n: i * (2**62 // n),
    lambda i, n: i - n // 2,
    lambda i, n: 7,
]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = []
    for run in draw(st.lists(st.sampled_from(RUNS), min_size=1, max_size=5, unique=True)):
        for tag in draw(st.lists(st.sampled_from(TAGS), min_size=1, max_size=3, unique=True)):
            pool, count = draw(st.sampled_from(POOLS)), draw(st.sampled_from([0, 1, 2, 9]))
            step, wall = (
                draw(st.sampled_from(STEPS)),
                draw(st.sampled_from([0.0, 1.7e9, -1e12, 1e300, math.nan, math.inf])),
            )
            values = draw(st.lists(st.sampled_from(pool), min_size=count, max_size=count))
            rows += [(run, tag, step(i, count), wall + i, value) for i, value in enumerate(values)]
    columns = list(zip(*rows, strict=True)) or [()] * 5
    names = ("run", "tag", "step", "wall_time", "value")
    types = (pa.string(), pa.string(), pa.int64(), pa.float64(), pa.float64())
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    return Table(pa.table(dict(zip(names, arrays, strict=True))))


OPTIONS: Any = st.fixed_dictionaries(
    {},
    optional={
        "x": st.sampled_from(["step", "relative", "wall", "tokens"]),
        "smooth": st.sampled_from([0.6, 1.0]),
        "log_x": st.booleans(),
        "log_y": st.booleans(),
        "ylim": st.sampled_from(["0:1", "1e-300:", "-5:", ":3", ":-10", "1e300:"]),
        "outliers": st.sampled_from([0, 0.05, 0.5]),
        "by": st.sampled_from(["run", "re:(.*)/seed.*", "*"]),
        "band": st.sampled_from(["none", "std", "ci95", "minmax", "quantiles"]),
        "each": st.booleans(),
        "legend": st.sampled_from(["inside", "outside", "direct", "none"]),
        "title": st.just("T $x_{ <b>\n"),
        "size": st.sampled_from(["single", "2x2", "0.5x0.5", 10.0]),
        "columns": st.sampled_from([1, 7]),
        "style": st.sampled_from(["paper", "talk,dark"]),
        "order": st.sampled_from(["best:loss:min", "best:loss:max"]),
        "max_runs": st.just(2),
    },
)


@pytest.mark.long
@examples(200)
@given(tables(), OPTIONS, st.sampled_from([20, 33, 80, 300]), st.booleans())
def test_any_table_in_a_terminal(table: Table, options: Any, room: int, colour: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", TbqWarning)
        try:
            drawn = lines_of(of_table(table, None, None, PlotOptions.of(options)), room, None, colour)
        except TbqError:
            return
    assert all(width(line) <= room for line in drawn)


@pytest.mark.long
@examples(25)
@given(tables(), OPTIONS, st.sampled_from(["png", "svg", "pdf", "pgf", "html"]))
def test_any_table_as_a_file(table: Table, options: Any, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", TbqWarning)
        try:
            path = Path(table.write_plot(Path(folder) / f"a.{ending}", **options))
        except TbqError:
            return
        assert path.stat().st_size > 500
