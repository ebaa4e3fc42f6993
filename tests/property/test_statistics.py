"""Each statistic against a plain computation on the same rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from tbq.query import student
from tbq.query.reduce import STATS, reduce
from tbq.table.downsample import every, max_points
from tbq.table.smooth import ema, smooth

values = st.floats(-1e6, 1e6, width=32) | st.sampled_from([math.nan, 0.0, -0.0, 1.0])
GROUPS = {"a0": "a", "a1": "a", "a2": "a", "b0": "b", "b1": "b"}


@st.composite
def tables(draw: Any, *, infinite: bool = False) -> pa.Table:
    """Scalars as tbq orders them, by run, tag and as logged, with steps that may repeat or go back."""
    number = values | st.sampled_from([math.inf, -math.inf]) if infinite else values
    rows = []
    for run in [*GROUPS, "alone"]:
        for tag in ("loss", "lr"):
            far = draw(st.sampled_from([1, 1, 10**12]))
            steps = draw(st.lists(st.integers(-2, 6), max_size=6))
            if draw(st.booleans()):
                steps = sorted(set(steps))
            rows += [(run, tag, step * far, draw(number)) for step in steps]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return pa.table(
        {
            "run": pa.array(columns[0], pa.string()).dictionary_encode(),
            "tag": pa.array(columns[1], pa.string()).dictionary_encode(),
            "step": pa.array(columns[2], pa.int64()),
            "wall_time": pa.array([0.0] * len(rows)),
            "value": pa.array(columns[3], pa.float64()),
        }
    )


@pytest.mark.long
@examples(120)
@given(tables())
def test_reduce_is_what_pandas_says(table: pa.Table) -> None:
    got = reduce(table, GROUPS, list(STATS)).to_pandas()
    frame = table.to_pandas().astype({"run": str, "tag": str})
    frame = frame[frame["run"].isin(list(GROUPS))]
    frame = frame.groupby(["run", "tag", "step"], as_index=False, sort=False).tail(
        1
    )  # the last of a run's values
    frame["group"] = frame["run"].map(GROUPS)
    by = frame.groupby(["group", "tag", "step"])["value"]
    want = by.agg(["mean", "std", "min", "max", "median", "count"]).reset_index()
    assert got[["group", "tag", "step"]].astype({"group": str, "tag": str}).values.tolist() == (
        want[["group", "tag", "step"]].values.tolist()
    )
    for name in ("mean", "std", "min", "max", "median"):
        np.testing.assert_allclose(got[name].astype(float), want[name].astype(float), rtol=1e-9, atol=1e-6)
    assert got["n"].tolist() == want["count"].tolist()
    t = {1: math.nan, 2: 12.706204736174698, 3: 4.302652729749462}
    reach = [
        t.get(n, math.nan) * std / math.sqrt(n) if n else math.nan
        for n, std in zip(want["count"], want["std"], strict=True)
    ]
    np.testing.assert_allclose(got["ci95"].astype(float), reach, rtol=1e-9, atol=1e-5)


def test_what_few_values_do_not_define_is_null() -> None:
    table = pa.table({"run": ["a0", "a1"], "tag": ["x", "x"], "step": [1, 2], "value": [1.0, math.nan]})
    one, nothing = reduce(table, GROUPS, "mean,std,ci95").to_pylist()
    assert one == {"group": "a", "tag": "x", "step": 1, "mean": 1.0, "std": None, "ci95": None, "n": 1}
    assert nothing == {"group": "a", "tag": "x", "step": 2, "mean": None, "std": None, "ci95": None, "n": 0}


# Student's t, two-sided 95 %, from printed tables.
@pytest.mark.parametrize(
    ("df", "want"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (5, 2.571),
        (9, 2.262),
        (10, 2.228),
        (30, 2.042),
        (120, 1.980),
    ],
)
def test_quantiles_of_t(df: int, want: float) -> None:
    assert round(student.quantile(0.975, df), 3) == want
    assert student.quantile(0.025, df) == -student.quantile(0.975, df)
    assert math.isclose(student.cdf(student.quantile(0.975, df), df), 0.975, rel_tol=1e-12)


def test_quantiles_of_t_in_closed_form() -> None:
    for p in (0.6, 0.9, 0.975, 0.9995):
        assert math.isclose(student.quantile(p, 1), math.tan(math.pi * (p - 0.5)), rel_tol=1e-9)
        assert math.isclose(
            student.quantile(p, 2), (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p))), rel_tol=1e-9
        )


# ---- smoothing ----


def test_the_values_of_tensorboards_own_test() -> None:
    """line_chart_v2/data_transformer_test.ts: weight 0.6."""
    assert ema([1, 0.5, 0], 0.6) == pytest.approx(
        [1, 0.6875, ((0.5 * 0.4 + 0.4 * 1 * 0.6) * 0.6) / (1 - 0.6**3)]
    )
    assert ema([0, 0.5, 1], 0.6) == pytest.approx([0, 0.3125, (1 * 0.4 + 0.5 * 0.4 * 0.6) / (1 - 0.6**3)])
    assert ema([], 0.6) == []
    assert ema([1, 0.5, 0], 0) == [1, 0.5, 0]
    assert ema([3, 3, 3], 0.9) == [3, 3, 3]


def as_tensorboard(curve: list[float], weight: float) -> list[float]:
    """`classicSmoothing` of TensorBoard's line chart, line by line."""
    if all(value == curve[0] for value in curve):
        return curve
    last, count, out = 0.0, 0, []
    for value in curve:
        if not math.isfinite(value):
            out.append(value)
            continue
        last = last * weight + (1 - weight) * value
        count += 1
        out.append(last / (1 - weight**count if weight != 1 else 1))
    return out


@examples(100)
@given(tables(infinite=True), st.sampled_from([0.0, 0.3, 0.6, 0.99, 0.999, 1.0]), st.randoms())
def test_each_curve_is_smoothed_alone(table: pa.Table, weight: float, random: Any) -> None:
    rows = table.to_pylist()
    want: list[float] = [0.0] * len(rows)
    for run, tag in {(row["run"], row["tag"]) for row in rows}:
        ours = [i for i, row in enumerate(rows) if (row["run"], row["tag"]) == (run, tag)]
        for i, value in zip(ours, as_tensorboard([rows[i]["value"] for i in ours], weight), strict=True):
            want[i] = value
    np.testing.assert_allclose(smooth(table, weight)["value"].to_numpy(), want, rtol=1e-12, atol=1e-9)
    # A table in another order, with its curves in theirs, is smoothed the same.
    order = sorted(range(len(rows)), key=lambda i: rows[i]["step"])
    keyed = {key: [i for i in range(len(rows)) if (rows[i]["run"], rows[i]["tag"]) == key] for key in
             {(row["run"], row["tag"]) for row in rows}}  # fmt: skip
    pools = {key: list(places) for key, places in keyed.items()}
    order = [pools[rows[i]["run"], rows[i]["tag"]].pop(0) for i in order]
    mixed = table.take(pa.array(order, pa.int64()))
    np.testing.assert_allclose(
        smooth(mixed, weight)["value"].to_numpy(), np.array(want)[order], rtol=1e-12, atol=1e-9
    )


# ---- fewer points ----


@examples(100)
@given(tables(infinite=True), st.integers(1, 8), st.sampled_from(["triangle", "minmax"]))
def test_fewer_points_are_points_of_the_curve(table: pa.Table, n: int, method: str) -> None:
    kept = max_points(table, n, method)
    # NaN is not equal to itself: compare by text, which also keeps the order.
    everything = [repr(row) for row in table.to_pylist()]
    place = -1
    for row in map(repr, kept.to_pylist()):
        place = everything.index(row, place + 1)
    curves = (
        pd.DataFrame(table.to_pylist(), columns=table.column_names).groupby(["run", "tag"])["step"].agg(list)
    )
    left = (
        pd.DataFrame(kept.to_pylist(), columns=table.column_names).groupby(["run", "tag"])["step"].agg(list)
    )
    for key, steps in curves.items():
        ours = left[key]
        assert (len(ours) == min(n, len(steps))) if method == "triangle" else 0 < len(ours) <= n
        if method == "triangle":
            assert ours[-1] == steps[-1]
            assert n == 1 or ours[0] == steps[0]


@examples(60)
@given(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=60), st.integers(3, 20))
def test_largest_triangles(curve: list[float], n: int) -> None:
    table = pa.table(
        {"run": ["r"] * len(curve), "tag": ["t"] * len(curve), "step": range(len(curve)), "value": curve}
    )
    assert max_points(table, n)["step"].to_pylist() == largest_triangles(curve, n)


def largest_triangles(curve: list[float], n: int) -> list[int]:
    """Steinarsson's downsampling (2013), as published, in plain Python."""
    if n >= len(curve):
        return list(range(len(curve)))
    width = (len(curve) - 2) / (n - 2)
    edges = [min(int(bucket * width) + 1, len(curve) - 1) for bucket in range(n - 1)]
    kept = [0]
    for bucket in range(n - 2):
        behind = range(edges[bucket + 1], edges[bucket + 2] if bucket + 2 < n - 1 else len(curve))
        x = sum(behind) / len(behind)
        y = sum(curve[i] for i in behind) / len(behind)
        a = kept[-1]
        areas = [
            abs((a - x) * (curve[i] - curve[a]) - (a - i) * (y - curve[a]))
            for i in range(edges[bucket], edges[bucket + 1])
        ]
        kept.append(edges[bucket] + areas.index(max(areas)))
    return [*kept, len(curve) - 1]


@examples(60)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=60), st.integers(2, 20))
def test_extremes_are_never_lost(curve: list[float], n: int) -> None:
    table = pa.table(
        {"run": ["r"] * len(curve), "tag": ["t"] * len(curve), "step": range(len(curve)), "value": curve}
    )
    kept = max_points(table, n, "minmax")["value"].to_pylist()
    assert (min(kept), max(kept)) == (min(curve), max(curve))


@examples(40)
@given(tables(), st.integers(1, 5))
def test_every_nth(table: pa.Table, n: int) -> None:
    frame = pd.DataFrame(table.to_pylist(), columns=table.column_names)
    want = frame[frame.groupby(["run", "tag"]).cumcount() % n == 0] if len(frame) else frame
    assert every(table, n)["step"].to_pylist() == want["step"].tolist()
