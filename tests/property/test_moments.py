"""Merging the statistics of two groups of runs gives the statistics of all of them."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from tbq.query.moments import BANDS, Moments, merged
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
        assert (got.smallest[place], got.greatest[place]) == (row["min"], row["max"])
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
