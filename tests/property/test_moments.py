"""Merging the statistics of two groups of runs gives the statistics of all of them."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from tbq.query.moments import BANDS, Moments, merged, quartiles
from tbq.query.reduce import reduce

VALUES = st.one_of(st.floats(-1e6, 1e6, width=32), st.just(math.nan))
RUNS = st.lists(st.lists(st.tuples(st.integers(0, 6), VALUES), max_size=8), min_size=1, max_size=8)


def table(runs: list[list[tuple[int, float]]]) -> pa.Table:
    rows = [(f"run{i}", step, value) for i, run in enumerate(runs) for step, value in run]
    return pa.table(
        {
            "run": pa.array([run for run, _, _ in rows], pa.string()).dictionary_encode(),
            "tag": pa.array(["loss"] * len(rows), pa.string()).dictionary_encode(),
            "step": pa.array([step for _, step, _ in rows], pa.int64()),
            "value": pa.array([value for _, _, value in rows], pa.float64(), from_pandas=False),
        }
    )


@examples(200)
@given(RUNS, st.integers(1, 4))
def test_merged_is_whole(runs: list[list[tuple[int, float]]], size: int) -> None:
    parts = [Moments.of(table(runs[i : i + size])) for i in range(0, len(runs), size)]
    got = merged(parts)
    want = reduce(
        table(runs),
        {f"run{i}": "all" for i in range(len(runs))},
        ("mean", "std", "min", "max", "sem", "ci95"),
    ).to_pylist()
    assert got.step.tolist() == [row["step"] for row in want]
    assert got.count.tolist() == [row["n"] for row in want]
    for place, row in enumerate(want):
        if not row["n"]:
            assert np.isnan(got.mean[place])
            continue
        assert (got.min[place], got.max[place]) == (row["min"], row["max"])
        scale = max(abs(row["min"]), abs(row["max"]), 1e-30)
        assert abs(got.mean[place] - row["mean"]) <= 1e-12 * scale
        for band in BANDS:
            low, high = (ends[place] for ends in got.ends(band))
            reach = 0.0 if band == "none" else row.get(band) or 0.0
            if band == "minmax":
                assert (low, high) == (row["min"], row["max"])
            else:
                assert abs(low - (row["mean"] - reach)) <= 1e-7 * scale
                assert abs(high - (row["mean"] + reach)) <= 1e-7 * scale


@st.composite
def arrays(draw: st.DrawFn) -> list[tuple[np.ndarray, np.ndarray]]:
    """Steps and values of runs, which often share their steps."""
    steps = draw(st.lists(st.integers(0, 6), max_size=6))
    shared = sorted(set(steps))
    if draw(st.booleans()):
        runs = [[(step, draw(VALUES)) for step in shared] for _ in range(draw(st.integers(1, 6)))]
    else:
        runs = draw(RUNS)
    return [
        (np.array([step for step, _ in run], np.int64), np.array([value for _, value in run], np.float64))
        for run in runs
    ]


@examples(200)
@given(arrays())
def test_runs_are_as_their_table(runs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    listed = [list(zip(steps.tolist(), values.tolist(), strict=True)) for steps, values in runs]
    got = Moments.of_runs(runs)
    want = Moments.of(table(listed))
    for name, column in vars(want).items():
        np.testing.assert_array_equal(getattr(got, name), column, name)
    of_step: dict[int, list[float]] = {step: [] for run in listed for step, _ in run}
    for run in listed:
        for step, value in dict(run).items():  # the last of several values counts
            of_step[step] += [] if math.isnan(value) else [value]
    ranks = quartiles(runs)
    assert ranks.shape == (3, len(of_step))
    for place, (_, values) in enumerate(sorted(of_step.items())):
        expected = np.quantile(values, [0.25, 0.5, 0.75]) if values else [math.nan] * 3
        np.testing.assert_allclose(ranks[:, place], expected, rtol=1e-12, atol=1e-12)
