"""Welch's test against SciPy, importance against a loop that leaves out each run, and as-of joins against pandas."""

from __future__ import annotations

import math
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tbq.query import student
from tbq.query.configurations import Ranking
from tbq.query.groups import Grouping
from tbq.query.importance import importances, predicted_share
from tbq.table import Table

numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
samples = st.lists(numbers, min_size=2, max_size=12)


@given(samples, samples, st.sampled_from([1.0, 1e-200, 1e200]))
def test_welch(a: list[float], b: list[float], scale: float) -> None:
    from scipy import stats  # here, because it takes seconds that each worker would spend

    described = [(float(np.mean(each)), float(np.std(each, ddof=1)), len(each)) for each in (a, b)]
    first, second = ((mean * scale, std * scale, n) for mean, std, n in described)
    if not described[0][1] and not described[1][1]:
        assert student.welch(first, second) is None
        return
    (mean, std, n), (other, other_std, m) = described
    want = stats.ttest_ind_from_stats(mean, std, n, other, other_std, m, equal_var=False).pvalue
    assert student.welch(first, second) == pytest.approx(want, rel=1e-8, abs=1e-300)
    assert student.welch(first, second) == student.welch(second, first)


# The true mean of each configuration, and its spread over seeds. The best two never differ.
_EQUAL = {
    "none differs": [(0.0, 1.0)] * 12,
    "two": [(0.0, 1.0)] * 2,
    "two, and worse ones": [(0.0, 1.0)] * 2 + [(50.0, 1.0)] * 10,
    "one with much spread": [(0.0, 5.0)] + [(0.0, 1.0)] * 11,
    "two with unequal spread": [(0.0, 3.0), (0.0, 1.0)] + [(50.0, 1.0)] * 10,
}


@pytest.mark.long
@pytest.mark.parametrize("case", _EQUAL)
def test_chance_alone_is_rarely_beyond_chance(case: str) -> None:
    """If the best two do not differ, a difference is found in at most the nominal share of sweeps."""
    noise, sweeps, seeds = np.random.default_rng(12), 2000, 5
    found = 0
    for _ in range(sweeps):
        values = {
            f"{name}/{seed}": value
            for name, (mean, spread) in enumerate(_EQUAL[case])
            for seed, value in enumerate(noise.normal(mean, spread, seeds).tolist())
        }
        grouping = Grouping.of_names({run: run.partition("/")[0] for run in values})
        verdict = Ranking.of("loss", "min", values, grouping).verdict
        assert "differ beyond chance: p" in verdict
        found += "do not" not in verdict
    # The nominal share, plus 3 standard deviations of the share in this many sweeps.
    assert found / sweeps < student.BEYOND_CHANCE + 3 * math.sqrt(0.05 * 0.95 / sweeps)
    if "two" in case:
        assert found / sweeps > 0.025  # the test does find some


@pytest.mark.parametrize("slope", [0.0, 2.0])
def test_directions_of_noise(slope: float) -> None:
    noise, sweeps = np.random.default_rng(3), 200
    found = 0
    for _ in range(sweeps):
        runs = {str(i): {"size": float(i % 4), "lr": float(i % 3)} for i in range(60)}
        values = {run: slope * each["size"] + noise.normal(0, 2.0) for run, each in runs.items()}
        found += any(
            each.name == "size" and each.direction is not None for each in importances(values, "min", runs)
        )
    assert found / sweeps > 0.9 if slope else found / sweeps < 0.1


@given(st.floats(0, 50), st.floats(1, 1e6))
def test_two_sided(t: float, df: float) -> None:
    from scipy import stats  # here, because it takes seconds that each worker would spend

    assert student.two_sided(t, df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-8, abs=1e-300)
    assert student.two_sided(-t, df) == student.two_sided(t, df)


def by_hand(codes: list[int], values: list[float]) -> float:
    """Predict each value from the others of its group, or, if there are none, from all others."""
    errors = total = 0.0
    for i, (code, value) in enumerate(zip(codes, values, strict=True)):
        others = [each for j, each in enumerate(values) if j != i]
        alike = [each for j, each in enumerate(values) if j != i and codes[j] == code]
        errors += (value - math.fsum(alike or others) / len(alike or others)) ** 2
        total += (value - math.fsum(others) / len(others)) ** 2
    return max(0.0, 1 - errors / total)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-20, 20)), min_size=2, max_size=20))
def test_predicted_share(pairs: list[tuple[int, int]]) -> None:
    codes, values = [code for code, _ in pairs], [float(value) for _, value in pairs]
    assume(len(set(values)) > 1)
    share = predicted_share(np.array(codes), np.array(values))
    assert share == pytest.approx(by_hand(codes, values), abs=1e-9)
    assert 0 <= share <= 1


@pytest.mark.parametrize("way", ["min", "max"])
def test_importance_knows_ranks_only(way: str) -> None:
    """Any scale of the metric gives the same answer, a diverged run too; other names of categories do not matter."""
    for seed in range(10):
        noise = random.Random(seed)
        runs = {
            str(i): {"lr": float(noise.randrange(4)), "word": f"w{noise.randrange(3)}"} for i in range(20)
        }
        values = {run: (each["lr"] - 1) ** 2 + noise.random() for run, each in runs.items()}  # type: ignore[operator]
        far = {run: math.exp(3 * value) for run, value in values.items()}
        found = importances(values, way, runs)
        assert importances(far, way, runs) == found
        worst = (max if way == "min" else min)(values, key=values.__getitem__)
        assert importances({**values, worst: math.nan}, way, runs) == found
        renamed = {run: {"lr": each["lr"], "word": f"{each['word']}!"} for run, each in runs.items()}
        assert [each.importance for each in importances(values, way, renamed)] == [
            each.importance for each in found
        ]


def test_noise_of_many_values_is_not_important() -> None:
    """A rate with an optimum inside comes before any of twenty parameters that are noise."""
    for seed in range(20):
        noise = random.Random(seed)
        rates = (1e-4, 1e-3, 1e-2, 1e-1)
        runs = {
            str(i): {"lr": noise.choice(rates)}
            | {f"noise{k}": f"{noise.randrange(2 + k)}" for k in range(20)}
            for i in range(60)
        }
        values = {run: abs(math.log10(each["lr"]) + 2.5) + noise.gauss(0, 0.4) for run, each in runs.items()}
        first, *others = importances(values, "min", runs)  # type: ignore[arg-type]
        assert first.name == "lr"
        assert first.importance is not None
        assert first.direction is None
        assert all((each.importance or 0) < first.importance for each in others)


rows = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from(["lr", "loss"]),
        st.integers(0, 12),
        st.floats(-5, 5) | st.just(math.nan),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda row: row[:3],
)


@given(rows)
def test_asof_is_pandas_merge_asof(rows: list[tuple[str, str, int, float]]) -> None:
    rows = sorted(rows, key=lambda row: row[:3])
    assume(any(tag == "loss" for _, tag, _, _ in rows))
    names = ["run", "tag", "step", "value"]
    frame = pd.DataFrame(rows, columns=names)
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    joined = Table(table).wide(["lr", "loss"] if (frame.tag == "lr").any() else ["loss"], asof="loss")
    left = frame[frame.tag == "loss"].rename(columns={"value": "loss"}).sort_values("step", kind="stable")
    right = frame[frame.tag == "lr"].rename(columns={"value": "lr"}).sort_values("step", kind="stable")
    right["logged"] = True
    want = pd.merge_asof(left, right[["run", "step", "lr", "logged"]], on="step", by="run")
    want = want.sort_values(["run", "step"], kind="stable")
    assert joined["run"].tolist() == want["run"].tolist()
    assert joined["step"].tolist() == want["step"].tolist()
    np.testing.assert_array_equal(joined["loss"], want["loss"])
    if len(right):
        cells = joined.to_arrow()["lr"]
        assert [each.is_valid for each in cells] == want["logged"].notna().tolist()  # NaN is a value
        np.testing.assert_array_equal(cells.to_numpy(), want["lr"])
