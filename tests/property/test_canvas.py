"""Every column's smallest and largest value has a dot, whatever is drawn; a chart has the requested size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from tbq.plot import ticks
from tbq.plot.canvas import Canvas, rows_of
from tbq.plot.cells import clipped, filled, fitted, plain, width
from tbq.plot.chart import Chart, Columns, Curve, plot_width

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-10, 10),
    st.sampled_from([0.0, 1.0, 1e308, -1e308, 5e-324]),
)


@st.composite
def columns(draw: st.DrawFn, count: int) -> Columns:
    """First, last, least and largest of each column, or nothing in it."""
    parts = []
    for _ in range(count):
        points = draw(st.lists(NUMBERS, max_size=4))
        parts.append((points[0], points[-1], min(points), max(points)) if points else (math.nan,) * 4)
    return Columns(*np.array(parts, dtype=np.float64).T)


def row(value: float, low: float, high: float, height: int) -> int:
    return int(rows_of(np.array([value]), low, high, height)[0])


@given(data=st.data(), cells=st.integers(1, 12), height=st.integers(1, 6))
def test_every_column_shows_its_least_and_largest_value(data: st.DataObject, cells: int, height: int) -> None:
    curves = data.draw(st.lists(columns(cells * 2), min_size=1, max_size=3))
    values = np.concatenate([part for each in curves for part in (each.min, each.max)])
    low, high = (np.nanmin(values), np.nanmax(values)) if not np.isnan(values).all() else (0.0, 1.0)
    canvas = Canvas(cells, height)
    for owner, each in enumerate(curves):
        rows = [rows_of(part, low, high, height * 4) for part in (each.first, each.last, each.max, each.min)]
        canvas.curve(*rows, owner)
    for each in curves:
        for column, (least, largest) in enumerate(zip(each.min, each.max, strict=True)):
            if not math.isnan(least):
                assert canvas.dots[row(least, low, high, height * 4), column]
                assert canvas.dots[row(largest, low, high, height * 4), column]
                assert canvas.owners[row(least, low, high, height * 4) // 4, column // 2] >= 0


@given(data=st.data(), cells=st.integers(2, 12), height=st.integers(1, 6))
def test_a_curve_has_no_gap(data: st.DataObject, cells: int, height: int) -> None:
    """From its first to its last point there is a dot in each column, and it touches one in the next."""
    each = data.draw(columns(cells * 2))
    there = np.flatnonzero(~np.isnan(each.min))
    canvas = Canvas(cells, height)
    low, high = (np.nanmin(each.min), np.nanmax(each.max)) if len(there) else (0.0, 1.0)
    rows = [rows_of(part, low, high, height * 4) for part in (each.first, each.last, each.max, each.min)]
    canvas.curve(*rows)
    if not len(there):
        assert not canvas.dots.any()
        return
    assert not canvas.dots[:, : there[0]].any()
    assert not canvas.dots[:, there[-1] + 1 :].any()
    for column in range(there[0], there[-1]):
        here, after = (np.flatnonzero(canvas.dots[:, at]) for at in (column, column + 1))
        assert np.abs(here[:, None] - after[None, :]).min() <= 1


@pytest.mark.long
@given(
    data=st.data(),
    room=st.integers(1, 50),
    height=st.integers(1, 14),
    log=st.booleans(),
    axis=st.sampled_from(["step", "relative", "wall"]),
    x=st.tuples(NUMBERS, NUMBERS),
)
def test_a_chart_is_as_large_as_its_room(
    data: st.DataObject, room: int, height: int, log: bool, axis: str, x: tuple[float, float]
) -> None:
    count = plot_width(room) * 2
    curves = [
        Curve(
            data.draw(st.text(max_size=30)),
            None,
            data.draw(columns(count)),
            data.draw(st.none() | columns(count)),
            broken=data.draw(NUMBERS),
            takeovers=data.draw(st.lists(NUMBERS, max_size=2)),
            value=data.draw(st.none() | NUMBERS | st.just(math.nan)),
            letter=data.draw(st.sampled_from(["", "a"])),
        )
        for _ in range(data.draw(st.integers(0, 2)))
    ]
    lines = Chart(curves, min(x), max(x), axis, log).lines(room, height)  # type: ignore[arg-type]
    assert len(lines) == height
    assert {width(line) for line in lines} == {room}
    assert "\x1b" not in plain(lines)


@given(low=NUMBERS, high=NUMBERS, most=st.integers(2, 9))
@example(low=1.7e9, high=1.7e9 + 15, most=5)
@example(low=1 - 1e-9, high=1 + 1e-9, most=5)
@example(low=2.0**53, high=2.0**53 + 120, most=6)
def test_ticks_are_on_the_axis(low: float, high: float, most: int) -> None:
    low, high = min(low, high), max(low, high)
    found = ticks.linear(low, high, most)
    assert len(found) <= max(most, 2)
    space = (high / 2 - low / 2) * 1e-6
    assert all(low - space <= tick <= high + space for tick in found)
    assert len(ticks.labels(found)) == len(found)
    assert len(set(ticks.labels(found))) == len(set(found)), ticks.labels(found)
    if low > 0:
        logs = ticks.logarithmic(low, high, most)
        assert len(logs) <= most + 1
        assert all(low * (1 - 1e-6) <= tick <= high * (1 + 1e-6) for tick in logs)


@given(text=st.text(max_size=20), room=st.integers(0, 20))
def test_text_fits_its_cells(text: str, room: int) -> None:
    assert cell_len(clipped(text, room)) <= room
    assert cell_len(fitted(text, room)) == room
    assert clipped(text, room).isprintable()
    from tbq.plot.cells import Span

    assert width(filled([Span(text)], room)) == room
