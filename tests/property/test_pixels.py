"""Curves reduced to pixels: whatever the values, each column keeps its first, last, smallest and largest."""

from __future__ import annotations

import tempfile
from pathlib import Path

import logs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq.following.view import View
from tbq.table.pixels import columns_of, envelope, grid, kept
from tbq.table.sparks import spark_svg, spark_text

VALUES = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=60)
WIDTH = st.integers(1, 12)


@given(VALUES, WIDTH)
def test_columns_against_a_loop(values: list[float], width: int) -> None:
    y = np.array(values)
    at = grid(np.arange(len(y), dtype=float), 0.0, float(len(y) - 1), width)
    made = columns_of(at, y, width)
    for column in range(width):
        inside = [v for v, c in zip(values, at, strict=True) if c == column and np.isfinite(v)]
        want = [inside[0], inside[-1], min(inside), max(inside)] if inside else [np.nan] * 4
        np.testing.assert_array_equal([part[column] for part in made], want)


@given(VALUES, WIDTH, st.booleans(), st.randoms(use_true_random=False))
def test_rows_that_are_kept_have_all_extremes_and_gaps(
    values: list[float], width: int, mixed: bool, random: object
) -> None:
    y = np.array(values)
    x = np.arange(len(y), dtype=float)
    if mixed:
        random.shuffle(x)  # type: ignore[attr-defined]
    at = grid(x, 0.0, float(len(y) - 1), width)
    rows = kept(at, y, 0)
    assert (np.diff(rows) > 0).all()
    for part in zip(columns_of(at, y, width), columns_of(at[rows], y[rows], width), strict=True):
        np.testing.assert_array_equal(*part)
    # Gaps stay in place: if a non-finite value lies between two kept rows, one such value is kept too.
    broken = ~np.isfinite(y)
    for left, right in zip(rows, rows[1:], strict=False):
        if broken[left + 1 : right].any():
            assert broken[left] or broken[right]
    assert not mixed or len(rows) <= len(y)
    if not mixed:
        stretches = 1 + int((broken[1:] != broken[:-1]).sum())
        assert len(rows) <= 4 * (width + stretches)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0, 50)), min_size=1, max_size=60), WIDTH)
def test_an_envelope_covers_the_band(band: list[tuple[float, float]], width: int) -> None:
    low = np.array([bottom for bottom, _ in band])
    high = low + np.array([height for _, height in band])
    at = grid(np.arange(len(low), dtype=float), 0.0, float(len(low) - 1), width)
    rows, bottom, top = envelope(at, low, high, 0)
    for column in np.unique(at):
        ours = at[rows] == column
        assert bottom[ours].min() == low[at == column].min() and top[ours].max() == high[at == column].max()


@given(VALUES, WIDTH)
def test_sparklines_of_anything(values: list[float], width: int) -> None:
    y = np.array(values)
    x = np.arange(len(y), dtype=float)
    text = spark_text(x, y, width)
    assert len(text) == width and set(text) <= set("▁▂▃▄▅▆▇█✕ ")
    drawn = spark_svg(x, y)
    assert "nan" not in drawn and "inf" not in drawn and bool(drawn) == bool(np.isfinite(y).any())


@given(st.lists(st.floats(1e-300, 1e300), min_size=2, max_size=30), WIDTH)
def test_a_log_grid_is_in_order(places: list[float], width: int) -> None:
    x = np.sort(np.array(places))
    at = grid(x, float(x[0]), float(x[-1]), width, log=True)
    assert (np.diff(at) >= 0).all() and at.min() >= 0 and at.max() < width


@examples(25)
@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.floats(width=32)), min_size=1, max_size=40, unique_by=lambda p: p[0]
    ),
    WIDTH,
    st.sampled_from([0.0, 0.6]),
)
def test_columns_are_those_of_the_store(points: list[tuple[int, float]], width: int, smooth: float) -> None:
    """`tbq watch` draws from columns that the core makes; both ways agree."""
    with tempfile.TemporaryDirectory() as folder:
        root = logs.write(Path(folder), {"a": {"t": points}})
        with tbq.follow(root, on_error="ignore") as follower:
            follower.poll()
            made = View(follower).curves([("a", "t")], width=width, smooth=smooth)
        table = tbq.open(root).scalars(on_error="ignore").smooth(smooth)
    x, y = table["step"].astype(float), table["value"]
    ours = columns_of(grid(x, float(x.min()), float(x.max()), width), y, width)
    for name, column in zip(ours._fields, ours, strict=True):
        np.testing.assert_array_equal(column, getattr(made, name)[0], err_msg=name)


@pytest.mark.parametrize(
    ("low", "high", "column"),
    [(-1.5e308, 1.5e308, 6), (-1.7e308, 1.7e308, 6), (0.0, 5e-324, 0), (0.0, 1e-310, 0), (-1e-310, 0.0, 12)],
)
def test_an_axis_of_the_store_may_be_as_long_or_as_short_as_numbers_are(
    low: float, high: float, column: int, tmp_path: Path
) -> None:
    root = logs.write(tmp_path, {"a": {"t": [(0, 1.0)]}})
    with tbq.follow(root) as follower:
        follower.poll()
        curves = View(follower).curves([("a", "t")], width=13, range=(low, high))
    assert np.flatnonzero(np.isfinite(curves.first[0])).tolist() == [column]
    # The grid halves the smallest of numbers to nothing.
    assert grid(np.zeros(1), low, high, 13).tolist() in ([column], [0])
