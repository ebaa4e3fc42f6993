"""Tables without pyarrow: the core's totals against a plain computation, columns of odd shapes, and both libraries."""

from __future__ import annotations

import math
import pickle
from typing import Any

import arro3.core as arro3
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbq import _core
from tbq.arrow import dicts_of, having, joined, made, part, take, to_pyarrow, typed, values_of
from tbq.table import Table

SERIES = pa.schema(
    [
        ("run", pa.dictionary(pa.int32(), pa.string())),
        ("tag", pa.large_string()),
        *((name, pa.int64()) for name in ("count", "max_step", "last_step")),
        *((name, pa.float64()) for name in ("last_value", "pause")),
    ]
)
RUNS = ["a", "b", "c"]
steps = st.integers(-(2**62), 2**62)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "run": st.sampled_from(RUNS[:2]),
            "tag": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
            "count": st.integers(0, 3),
            "max_step": steps,
            "last_step": st.integers(0, 2) | steps,
            "last_value": st.sampled_from([0.5, math.nan, math.inf, -math.inf]),
            "pause": st.sampled_from([0.0, 0.5, 2.0]),
        }
    ),
    max_size=8,
)


def expected(series: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    totals = []
    for run in RUNS:
        own = [row for row in series if row["run"] == run]
        logged = [row for row in own if row["count"]]
        paused = [row for row in own if row["pause"]]
        best = max(paused, key=lambda row: (row["count"], row["last_step"]), default={"pause": 0.0})
        totals.append(
            (
                sum(row["count"] for row in own),
                max((row["max_step"] for row in logged), default=None),
                max((row["last_step"] for row in logged), default=None),
                best["pause"],
                [row["tag"] for row in logged if not math.isfinite(row["last_value"])],
            )
        )
    return totals


@given(rows, st.integers(0, 8))
def test_totals_of_runs(series: list[dict[str, Any]], cut: int) -> None:
    plain = pa.Table.from_pylist(series, SERIES.set(0, pa.field("run", pa.string())))
    codes = pa.array([RUNS.index(row["run"]) for row in series], pa.int32())
    labels = pa.DictionaryArray.from_arrays(codes, pa.array(RUNS))
    table = plain.set_column(0, "run", labels)
    chunked = pa.concat_tables([table.slice(0, cut), table.slice(min(cut, len(table)))])
    for library in (chunked, arro3.Table.from_arrow(chunked)):
        assert _core.run_totals(library, len(RUNS)) == expected(series)


def test_totals_refuse_other_tables() -> None:
    with pytest.raises(ValueError, match="want a column run"):
        _core.run_totals(pa.table({"step": [1]}), 1)
    codes = pa.DictionaryArray.from_arrays(pa.array([1], pa.int32()), pa.array(["a", "b"]))
    values = [codes, *(pa.array([0], field.type) for field in SERIES if field.type == pa.int64())]
    table = pa.table([codes, pa.array(["x"], pa.large_string()), *values[1:], [0.0], [0.0]], schema=SERIES)
    with pytest.raises(ValueError, match="without a name"):
        _core.run_totals(table, 1)


@pytest.mark.parametrize("library", [pa.table, arro3.Table.from_arrow])
def test_parts_are_cut_as_python_cuts(library: Any) -> None:
    table = library(pa.table({"step": [0, 1, 2]}))
    for begin in range(6):
        for count in range(6):
            got = part(table, begin, count)
            assert values_of(got.column(0)) == [0, 1, 2][begin : begin + count]


def test_rows_of_a_table() -> None:
    problems: dict[str, list[Any]] = {
        "code": ["b", "a", None], "severity": ["x"] * 3, "path": [None, "p", "q"], "offset": [None, 1, 2**62],
        "run": ["r", None, "s"], "tag": [None] * 3, "message": ["m"] * 3, "hint": ["", "é", "\0"],
    }  # fmt: skip
    table = made("problems", problems)
    assert dicts_of(take(table, [2, 0])) == [dicts_of(table)[2], dicts_of(table)[0]]
    assert take(table, []).num_rows == 0
    assert values_of(having(table, "run", {"s"})["offset"]) == [2**62]
    both = typed(joined([take(table, [1]), table]), "problems")
    assert values_of(both["code"]) == ["a", "b", "a", None]
    (chunk,) = to_pyarrow(both)["code"].chunks  # one dictionary for all rows
    assert chunk.dictionary.to_pylist() == ["a", "b"]


def test_a_table_keeps_what_it_was_given() -> None:
    arrow = pa.table({"step": [1, 2], "name": pa.array(["a", "b"]).dictionary_encode()})
    assert Table(arrow).to_arrow() is arrow
    light = Table(arro3.Table.from_arrow(arrow))
    for same in (light, pickle.loads(pickle.dumps(light)), Table(arro3.Table.from_arrow(arrow)).head(9)):
        assert same.to_arrow().equals(arrow)
        assert same.schema == arrow.schema
        assert [tuple(row) for row in same] == [(1, "a"), (2, "b")]
        assert same.tail(1).to_dicts() == [{"step": 2, "name": "b"}]
        assert same.select("name").columns == ["name"]
        assert pa.table(same).equals(arrow)
