"""CSV and JSON come back from another reader; the borders of blocks and chunks do not show."""

import csv
import io
import json
import math
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from tbq.export.csv import write as write_csv
from tbq.export.json import write as write_json
from tbq.export.options import ExportOptions

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
cells = st.tuples(
    text,
    st.one_of(st.none(), text),
    st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    st.one_of(st.none(), st.floats()),
    st.one_of(st.none(), st.booleans()),
    st.one_of(st.none(), st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4)),
    st.lists(st.one_of(st.none(), st.integers(-5, 5)), max_size=3),
)
NAMES = ["label", "text", "int", "float", "bool", "list", "holes"]


def arrow(rows: list[tuple[object, ...]], cut: int) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in NAMES]
    types = [
        pa.string(), pa.large_string(), pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.float64()),
        pa.list_(pa.int64()),
    ]  # fmt: skip
    table = pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], names=NAMES
    )
    table = table.set_column(0, "label", table["label"].dictionary_encode())
    cut = min(cut, len(table))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


def same(got: float, want: float) -> bool:
    return got == want or (math.isnan(got) and math.isnan(want)) or is_float32_of(got, want)


def is_float32_of(got: float, want: float) -> bool:
    import numpy as np

    with np.errstate(over="ignore"):
        return bool(np.float32(want) == want and np.float32(got) == want)


@given(st.lists(cells, max_size=8), st.integers(0, 8), st.sampled_from(["csv", "tsv"]))
def test_csv_comes_back(rows: list[tuple[object, ...]], cut: int, format: str) -> None:
    out = io.BytesIO()
    write_csv(arrow(rows, cut), out, ExportOptions(format=format))
    delimiter = {"csv": ",", "tsv": "\t"}[format]
    header, *lines = csv.reader(io.StringIO(out.getvalue().decode(), newline=""), delimiter=delimiter)
    assert header == NAMES
    assert len(lines) == len(rows)
    for got, want in zip(lines, rows, strict=True):
        assert got[0] == want[0]
        assert got[1] == (want[1] or "")
        assert got[2] == ("" if want[2] is None else str(want[2]))
        assert got[3] == "" if want[3] is None else same(float(got[3]), want[3])
        assert got[4] == {None: "", True: "true", False: "false"}[want[4]]
        assert got[5] == "" if want[5] is None else all(map(same, json.loads(got[5]), want[5]))
        assert json.loads(got[6]) == want[6]


@given(st.lists(cells, max_size=8), st.integers(0, 8), st.sampled_from(["null", "string"]))
def test_json_comes_back(rows: list[tuple[object, ...]], cut: int, json_nan: str) -> None:
    out, lines = io.BytesIO(), io.BytesIO()
    write_json(arrow(rows, cut), out, ExportOptions(format="json", json_nan=json_nan))
    write_json(arrow(rows, cut), lines, ExportOptions(format="jsonl", json_nan=json_nan))

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    records = json.loads(out.getvalue(), parse_constant=refuse)
    assert records == [json.loads(line) for line in lines.getvalue().decode().split("\n") if line]
    for got, want in zip(records, rows, strict=True):
        assert list(got) == NAMES
        assert (got["label"], got["text"], got["int"], got["bool"]) == (want[0], want[1], want[2], want[4])
        assert got["holes"] == want[6]
        value = want[3]
        if value is None or (not math.isfinite(value) and json_nan == "null"):
            assert got["float"] is None
        elif not math.isfinite(value):
            assert got["float"] == {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        else:
            assert same(got["float"], value)


@examples(20)
@given(st.integers(1, 20_000), st.integers(1, 7))
def test_blocks_and_chunks_do_not_show(count: int, chunks: int) -> None:
    whole = pa.table(
        {"tag": pa.array([f"t{i % 3}" for i in range(count)]).dictionary_encode(), "step": list(range(count))}
    )
    parts = [
        whole.slice(i * count // chunks, (i + 1) * count // chunks - i * count // chunks)
        for i in range(chunks)
    ]
    out = io.BytesIO()
    write_csv(pa.concat_tables(parts), out, ExportOptions())
    want = "".join(f"t{i % 3},{i}\n" for i in range(count))
    assert out.getvalue().decode() == "tag,step\n" + want


def test_a_table_past_one_block(tmp_path: Path) -> None:
    count = 100_000
    from tbq.export import write

    write(pa.table({"step": list(range(count)), "text": ["é" * 20] * count}), tmp_path / "out.csv")
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as lines:
        assert [row[0] for row in csv.reader(lines)][1:] == [str(i) for i in range(count)]
