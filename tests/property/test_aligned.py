"""The fast path of `reduce`, for runs with the same steps, gives the same as the general path, to the last bit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tbq.query.aligned import aligned
from tbq.query.reduce import STATS, reduce

VALUES = st.floats(allow_nan=False, width=32) | st.sampled_from([0.0, -0.0, 1e308, -1e308, float("inf")])


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, dict[str, str]]:
    runs = draw(st.integers(1, 6))
    groups = {f"r{i}": draw(st.sampled_from(["a", "b"])) for i in range(runs) if draw(st.booleans())}
    rows: list[tuple[str, str, int, float]] = []
    for tag in draw(st.sampled_from([("t",), ("u", "t")])):
        steps = draw(st.lists(st.integers(-5, 20), max_size=6, unique=True).map(sorted))
        for i in range(runs):
            other = draw(st.integers(0, 9)) == 0  # a run whose steps differ
            ours = steps[:-1] if other else steps
            rows += [(f"r{i}", tag, step, draw(VALUES)) for step in ours]
    if draw(st.integers(0, 5)) == 0:
        rows.append(("r0", "t", 3, float("nan")))
    names = ("run", "tag", "step", "value")
    types = (pa.string(), pa.string(), pa.int64(), pa.float64())
    columns = {
        name: pa.array([row[i] for row in rows], kind)
        for i, (name, kind) in enumerate(zip(names, types, strict=True))
    }
    return pa.table(columns), groups


@given(tables())
def test_both_ways_agree(made: tuple[pa.Table, dict[str, str]]) -> None:
    table, groups = made
    if not groups:
        return
    short = reduce(table, groups, list(STATS))
    general = reduce(table, groups, list(STATS), general_only=True)
    assert short.schema == general.schema
    for name in short.column_names:
        one, other = short[name].combine_chunks(), general[name].combine_chunks()
        assert one.is_null().to_pylist() == other.is_null().to_pylist(), name
        if pa.types.is_floating(one.type):
            left, right = (np.asarray(each.fill_null(0.0)).view(np.int64) for each in (one, other))
            both_nan = np.isnan(left.view(float)) & np.isnan(right.view(float))
            zero = (left.view(float) == 0) & (right.view(float) == 0)  # the least of 0 and -0 may be either
            assert ((left == right) | both_nan | zero).all(), name
        else:
            assert one.to_pylist() == other.to_pylist(), name


def test_the_short_way_is_taken_for_seeds() -> None:
    table = pa.table(
        {"run": ["a", "a", "b", "b"], "tag": ["t"] * 4, "step": [0, 1, 0, 1], "value": [1.0, 2, 3, 4]}
    )
    assert aligned(table, {"a": "g", "b": "g"}) is not None
    assert aligned(table.set_column(2, "step", pa.array([0, 1, 0, 2])), {"a": "g", "b": "g"}) is None
