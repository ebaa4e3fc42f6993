"""Whatever names and numbers a lake has: a filter in another reader gives the same as on all rows in memory."""

from __future__ import annotations

import operator
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import eventfile as ef
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq.lake

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")

LAST = "\U0010ffff"
NAMES = [
    "", "a", "loss[0]", "it's", "x" * 199, "x" * 200, "x" * 201, "x" * 200 + "a", "x" * 200 + "b", "x" * 5000,
    "y" * 199 + LAST, LAST, LAST * 200, LAST * 201, "z" * 100 + LAST * 150, "z" * 199 + "\ud7ff" + "tail",
    "z" * 199 + "\ue000", "😀" * 250, "😀", "\uffff" * 210, "\uffff", "é" * 300, "%41" * 100, "\\" * 300,
    "\x7f" * 201, '"' * 300, "b",
]  # fmt: skip
NUMBERS = [0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e-40]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge,
}  # fmt: skip


class Readers:
    """A table of a lake through each reader, with a filter and without."""

    def __init__(self, table: Path) -> None:
        self.delta = DeltaTable(table)
        self.dataset = self.delta.to_pyarrow_dataset()
        self.memory = self.dataset.to_table()
        self.polars = pl.scan_delta(str(table))
        self.collected = self.polars.collect()
        self.duckdb = duckdb.connect()
        self.duckdb.register("dataset", self.dataset)
        self.duckdb.register("memory", self.memory)
        self.files = self.delta.file_uris()

    def counts(self, column: str, how: str, value: Any) -> dict[str, tuple[int, int]]:
        """For each reader, the number of rows that a filter returns, and of rows in memory that pass it."""
        compare = OPERATORS[how]
        expression, polars = compare(ds.field(column), value), compare(pl.col(column), value)
        passing = self.memory.filter(expression).num_rows
        filters: Any = [(column, how, value)]
        test = f'"{column}" {how} $value'
        in_memory = self._count("memory", test, {"value": value})
        return {
            "pyarrow": (self.delta.to_pyarrow_table(filters=filters).num_rows, passing),
            "pandas": (len(self.delta.to_pandas(filters=filters)), passing),
            "dataset": (self.dataset.to_table(filter=expression).num_rows, passing),
            "polars": (self.polars.filter(polars).collect().height, self.collected.filter(polars).height),
            "duckdb": (self._count("dataset", test, {"value": value}), in_memory),
            "duckdb files": (
                self._count("read_parquet($files)", test, {"value": value, "files": self.files}),
                in_memory,
            ),
        }

    def _count(self, what: str, test: str, values: dict[str, Any]) -> int:
        answer = self.duckdb.execute(f"select count(*) from {what} where {test}", values).fetchall()
        return int(answer[0][0])


def assert_right(table: Path, column: str, values: list[Any]) -> None:
    readers = Readers(table)
    for value in values:
        for how in OPERATORS:
            for reader, (got, want) in readers.counts(column, how, value).items():
                assert got == want, (table.name, reader, column, how, value)


@pytest.mark.long
@examples(6)
@given(
    st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True), min_size=1, max_size=2),
    st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3),
    st.sampled_from(NAMES),
    st.booleans(),
)
def test_names_and_numbers(
    tmp_path_factory: pytest.TempPathFactory,
    syncs: list[list[str]],
    numbers: list[float],
    absent: str,
    compact: bool,
) -> None:
    """Each sync adds a data file, with a run of its own."""
    folder = tmp_path_factory.mktemp("lake")
    log, lake = folder / "log", folder / "lake"
    try:
        for number, tags in enumerate(syncs):
            run = log / "run" / str(number)
            run.mkdir(parents=True)
            events = [ef.scalar(tag, step, value) for tag in tags for step, value in enumerate(numbers)]
            (run / "events.out.tfevents.1.h").write_bytes(ef.event_file([ef.version(), *events]))
            tbq.lake.sync(log, lake, compact=compact)
        assert_right(lake / "scalars", "tag", [*{tag for tags in syncs for tag in tags}, absent])
        assert_right(lake / "scalars", "value", numbers)
    finally:
        shutil.rmtree(folder)


@pytest.mark.long
def test_long_names_of_runs_and_every_table(tmp_path: Path) -> None:
    """Every column of text and numbers of every table, by each of its values; some columns have nulls."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    names = ["/".join(["n" * 60] * depth) for depth in (1, 4, 5)] + ["empty", "😀" * 60 + "/" + "😀" * 60]
    for name in names:
        (log / name).mkdir(parents=True)
        events = [ef.version(), ef.scalar("loss", 3, float("nan")), ef.text("t" * 300, 1, b"words")]
        data = ef.event_file(events if name != "empty" else [])
        (log / name / "events.out.tfevents.1.h").write_bytes(data)
        tbq.lake.sync(log, lake)
    for table in sorted(path.parent for path in lake.glob("*/_delta_log")):
        rows = DeltaTable(table).to_pyarrow_table()
        for field in rows.schema:
            if pa.types.is_string(field.type) or pa.types.is_integer(field.type):
                assert_right(table, field.name, rows[field.name].drop_null().unique().to_pylist()[-1:])
