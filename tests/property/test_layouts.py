"""`wide` and `summary` against plain pandas, on any rows; NaN, duplicates, far-apart steps included."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbq.errors import TbqWarning
from tbq.summary.statistics import STATS
from tbq.table import Table
from tbq.table.wide import column_names

steps = st.one_of(
    st.integers(0, 5), st.integers(0, 20).map(lambda n: n * 1000), st.integers(-(2**63), 2**63 - 1)
)
values = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e100, 1e100), st.just(float("nan")))
row = st.tuples(
    st.sampled_from("abc"), st.sampled_from(["loss", "acc", "run", "tag.step", "step"]), steps, values
)
rows = st.lists(row, max_size=40)


def table_of(rows: list[tuple[str, str, int, float]], ordered: bool, chunks: int) -> Table:
    if ordered:
        rows = sorted(rows, key=lambda row: row[:2])
    run, tag, step, value = zip(*rows, strict=True) if rows else ((), (), (), ())
    arrow = pa.table(
        {
            "run": pa.array(run, pa.string()),
            "tag": pa.array(tag, pa.string()),
            "step": pa.array(step, pa.int64()),
            "wall_time": pa.array([0.0] * len(rows), pa.float64()),
            "value": pa.array(value, pa.float64()),
        }
    )
    size = max(len(rows) // chunks, 1)
    parts = [arrow.slice(i, size) for i in range(0, len(rows), size)] or [arrow]
    # Each chunk has a dictionary of its own, as files that were read apart do.
    encoded = [
        part.set_column(0, "run", part["run"].dictionary_encode()).set_column(
            1, "tag", part["tag"].dictionary_encode()
        )
        for part in parts
    ]
    return Table(pa.concat_tables(encoded))


@given(rows, st.booleans(), st.integers(1, 5))
def test_wide_is_the_pivot(rows: list[tuple[str, str, int, float]], ordered: bool, chunks: int) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        wide = table_of(rows, ordered, chunks).wide().to_arrow()

    want: dict[tuple[str, int], dict[str, float]] = {}
    hidden = 0
    for run, tag, step, value in rows:
        cells = want.setdefault((run, step), {})
        hidden += tag in cells
        cells[tag] = value
    tags = sorted({row[1] for row in rows})
    names = column_names(tags)
    assert wide.column_names == ["run", "step", *names]
    got = {(row["run"], row["step"]): row for row in wide.to_pylist()}
    assert len(got) == len(wide)
    assert sorted(got) == sorted(want)
    for key, cells in want.items():
        for tag, name in zip(tags, names, strict=True):
            value = got[key][name]
            assert (value is None) == (tag not in cells)
            assert value is None or value == cells[tag] or (np.isnan(value) and np.isnan(cells[tag]))
    for run in {row[0] for row in rows}:
        ours = [row["step"] for row in wide.to_pylist() if row["run"] == run]
        assert ours == sorted(ours)
    assert bool(said) == bool(hidden)
    if hidden:
        assert said[0].category is TbqWarning
        assert f"{hidden} value" in str(said[0].message)


@given(rows, st.booleans(), st.integers(1, 5))
def test_summary_is_what_pandas_computes(
    rows: list[tuple[str, str, int, float]], ordered: bool, chunks: int
) -> None:
    got = table_of(rows, ordered, chunks).summary(stats=list(STATS)).to_arrow().to_pylist()
    frame = pd.DataFrame(rows, columns=["run", "tag", "step", "value"])
    assert sorted(row["run"] for row in got) == sorted(set(frame["run"]))
    tags = sorted(set(frame["tag"]))
    wanted = [tag if stat == "last" else f"{tag}.{stat}" for tag in tags for stat in STATS]
    name_of = dict(zip(wanted, column_names(wanted, ("run",)), strict=True))
    for row in got:
        for tag in tags:
            series = frame[(frame["run"] == row["run"]) & (frame["tag"] == tag)].reset_index(drop=True)
            for stat in STATS:
                value = row[name_of[tag if stat == "last" else f"{tag}.{stat}"]]
                check(stat, value, series)


def check(stat: str, got: float | None, series: pd.DataFrame) -> None:
    value = series["value"]
    if not len(series):
        assert got is None
        return
    if stat in ("min_step", "max_step"):
        if value.isna().all():
            assert got is None
            return
        best = value.idxmin() if stat == "min_step" else value.idxmax()
        assert got == series["step"][best]
        return
    want = {
        "first": lambda: value.iloc[0],
        "last": lambda: value.iloc[-1],
        "count": lambda: len(value),
    }.get(stat, lambda: getattr(value, stat)())()
    scale = float(value.abs().max()) if stat in ("mean", "std") and value.notna().any() else 0.0
    assert got == pytest.approx(want, rel=1e-9, abs=scale * 1e-12, nan_ok=True)
