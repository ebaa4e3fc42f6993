"""Parquet files: where they came from, in which order their rows are, and groups of rows that readers can skip."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq.export import write
from tbq.table import Table


def test_parquet_says_where_it_came_from_and_is_sorted(tmp_path: Path) -> None:
    mixed = pa.table({"run": ["b", "a", "b", "a"], "tag": ["x", "y", "x", "x"], "step": [1, 2, 3, 4]})
    write(Table(mixed, "scalars", logdir="some/runs"), tmp_path / "out.parquet")
    meta = pq.read_schema(tmp_path / "out.parquet").metadata
    assert meta[b"tbq.version"].decode() == tbq.__version__
    assert meta[b"tbq.logdir"] == b"some/runs"
    back = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["step"] for row in back] == [4, 2, 1, 3]


@examples(30)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(0, 9)), max_size=12),
    columns=st.sampled_from([["run", "tag", "value"], ["run", "value"], ["tag", "value"]]),
    encoded=st.booleans(),
)
def test_parquet_keeps_the_order_of_what_is_not_a_table_of_values(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], columns: list[str], encoded: bool
) -> None:
    """`order by` of a query, and the best first of a summary."""
    path = tmp_path_factory.mktemp("out") / "out.parquet"
    arrow = pa.Table.from_pylist(
        [dict(zip(("run", "tag", "value"), row, strict=True)) for row in rows],
        schema=pa.schema([("run", pa.string()), ("tag", pa.string()), ("value", pa.int64())]),
    ).select(columns)
    if encoded:
        arrow = pa.table(
            [column.dictionary_encode() if name != "value" else column
             for name, column in zip(columns, arrow.columns, strict=True)],
            columns,
        )  # fmt: skip
    for kind in ("query", "summary", "table"):
        write(Table(arrow, kind), path, force=True)
        assert pq.read_table(path).to_pylist() == arrow.to_pylist()


def test_the_best_first_in_parquet(tmp_path: Path) -> None:
    log = tbq.open(tbq.demo(tmp_path / "runs"))
    query = "select run, min(value) as best from scalars where tag = 'val/loss' group by run order by best"
    quiet = {"on_error": "ignore"}
    for table in (log.sql(query, **quiet), log.summary(best={"val/loss": "max"}, media=False, **quiet)):
        table.write(tmp_path / "out.parquet", force=True)
        runs = pq.read_table(tmp_path / "out.parquet")["run"].to_pylist()
        assert runs == table["run"].tolist() != sorted(runs)


@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0], [3.0, 0.0, 2.0]])
def test_a_metric_called_tag(tmp_path: Path, values: list[float]) -> None:
    """Parquet is sorted by the columns run and tag; in a wide table the second may be a number."""
    with tbq.SummaryWriter(tmp_path / "runs" / "a") as writer:
        for step, value in enumerate(values):
            writer.add_scalar("tag", value, step)
    wide = tbq.open(tmp_path / "runs").scalars().wide()
    wide.write(tmp_path / "wide.parquet")
    assert pq.read_table(tmp_path / "wide.parquet")["tag"].to_pylist() == values


def test_parquet_row_groups_prune_by_run_and_tag(tmp_path: Path) -> None:
    runs, tags, count = 3, 2, 50_000
    codes = np.repeat(np.arange(runs * tags, dtype=np.int32), count)
    names = [f"run{i}" for i in range(runs)] + ["unused"]
    table = pa.table(
        {
            "run": pa.DictionaryArray.from_arrays(pa.array(codes // tags), pa.array(names)),
            "tag": pa.DictionaryArray.from_arrays(pa.array(codes % tags), pa.array(["t0", "t1"])),
            "step": np.tile(np.arange(count), runs * tags),
        }
    )
    write(table, tmp_path / "out.parquet")
    meta = pq.read_metadata(tmp_path / "out.parquet")
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    assert [group.num_rows for group in groups] == [2 * count] * 3
    for i, group in enumerate(groups):
        run = group.column(0).statistics
        assert (run.min, run.max) == (f"run{i}", f"run{i}")
        assert group.column(0).compression == "ZSTD"
    assert pq.read_table(tmp_path / "out.parquet", filters=[("run", "=", "run1")]).num_rows == tags * count


def test_a_series_longer_than_a_group_has_its_own(tmp_path: Path) -> None:
    table = pa.table({"run": ["a"] * 300_000 + ["b"] * 10, "tag": ["t"] * 300_010, "step": range(300_010)})
    write(table, tmp_path / "out.parquet")
    meta = pq.read_metadata(tmp_path / "out.parquet")
    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [300_000, 10]
