"""Rows selected by Arrow's functions are those that lists would give."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tbq.columns.codes import codes_of, names_in, values_of
from tbq.columns.rows import having, recast, take, take_cells

NAMES = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "", "ä/1"]))
CELLS = st.lists(st.tuples(NAMES, st.one_of(st.none(), st.floats(allow_nan=False))), max_size=12)


def tables(cells: list[tuple[str | None, float | None]], cut: int) -> pa.Table:
    """Labels as a dictionary, plain strings and numbers, in two chunks with dictionaries of their own."""
    parts = []
    for part in (cells[:cut], cells[cut:]):
        labels = pa.array([name for name, _ in part], pa.string())
        parts.append(
            pa.table(
                {
                    "label": labels.dictionary_encode().cast(pa.dictionary(pa.int32(), pa.string())),
                    "name": labels.cast(pa.large_string()),
                    "value": pa.array([value for _, value in part], pa.float64()),
                }
            )
        )
    return pa.concat_tables(parts)


@given(CELLS, st.integers(0, 12), st.lists(NAMES.filter(bool)), st.randoms(use_true_random=False))
def test_rows_are_those_of_lists(cells: Any, cut: int, names: Any, random: Any) -> None:
    table = tables(cells, cut)
    rows = table.to_pylist()
    schema = pa.schema(
        [("label", pa.large_string()), ("name", table.schema.field(0).type), ("value", pa.float64())]
    )
    order = [random.randrange(len(table)) for _ in range(8)] if len(table) else []
    holes = [None if random.random() < 0.3 else row for row in order]
    for column in ("label", "name"):
        assert having(table, column, names).to_pylist() == [row for row in rows if row[column] in names]
    assert take(table, order).to_pylist() == [rows[row] for row in order]
    assert take(table, range(len(table))) is table
    assert recast(table, schema).schema == schema and recast(table, schema).to_pylist() == rows
    labels = take_cells(table["label"], holes)
    assert labels.type == table["label"].type
    assert labels.to_pylist() == [None if row is None else rows[row]["label"] for row in holes]
    for name in ("label", "name"):
        assert values_of(table[name]) == table[name].to_pylist()
        assert names_in(table[name]) == sorted(set(table[name].to_pylist()) - {None})
        codes, labels = codes_of(table[name])
        texts = [*labels.to_pylist(), None]
        assert len(set(texts)) == len(texts)
        assert [texts[code] for code in codes.tolist()] == table[name].to_pylist()


def test_names_that_a_dictionary_has_twice() -> None:
    doubled = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int32()), pa.array(["a", "b", "a"]))
    codes, names = codes_of(doubled)
    assert (codes.tolist(), names.to_pylist()) == ([0, 1, 0, -1], ["a", "b"])
    assert list(itertools.chain(values_of(doubled))) == ["a", "b", "a", None]
