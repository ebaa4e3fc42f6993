"""Reading a lake's data files: rows are in order for any set of files, and only the needed files are read."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import eventfile as ef
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, WriterProperties
from lakes import assert_same, exact_rows

import tbq
import tbq.lake
from tbq.errors import SelectionError
from tbq.lake import scan
from tbq.lake.order import in_log_order
from tbq.query.scan import scan as rows_passing

if TYPE_CHECKING:
    from buckets import Bucket

TAGS = ("acc", "b\\x", "loss", "z")


def grow(log: Path, runs: int, steps: range) -> None:
    for number in range(runs):
        path = log / f"run{number:03}" / "events.out.tfevents.1.h"
        new = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        events = [ef.scalar(tag, step, step / 2, 100.0 + step) for step in steps for tag in TAGS]
        with path.open("ab") as file:
            file.write(b"".join(map(ef.record, [ef.version(99.0), *events] if new else events)))


def assert_reads_the_same(lake: Path | str, log: Path | str, **storage: Any) -> None:
    ours, theirs = tbq.open(lake, **storage), tbq.open(log, **storage)
    for run in (None, "run001", ["run000", "run003"]):
        for tag in (None, "loss", ["z", "acc"], "*", ["acc", "l*"]):
            for steps in (None, "3:7"):
                selected: dict[str, Any] = {"tag": tag, "steps": steps}
                found, want = (log.scalars(run=run, **selected).to_arrow() for log in (ours, theirs))
                assert exact_rows(found) == exact_rows(want), (run, tag, steps)
    assert exact_rows(ours.table("tags").to_arrow()) == exact_rows(theirs.table("tags").to_arrow())


@pytest.mark.parametrize("most", [10, 100, 1 << 20])
def test_order_and_selections_over_many_files(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From files with distinct runs, from files that overlap, and after joining."""
    monkeypatch.setattr("tbq.lake.datafiles.MOST_ROWS", most)
    monkeypatch.setattr("tbq.export.parquet._GROUP", 16)
    monkeypatch.setattr("tbq.export.parquet._LEAST", 6)
    log, lake = tmp_path / "log", tmp_path / "lake"
    for steps in (range(5), range(5, 9), range(9, 10)):
        grow(log, 4, steps)
        tbq.lake.sync(log, lake, compact=False)
        assert_reads_the_same(lake, log)
    tbq.lake.sync(log, lake, compact=True)
    assert_reads_the_same(lake, log)


def test_many_rows_are_read_by_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And few rows are not: the result is the same."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    for steps in (range(5), range(5, 9)):
        grow(log, 4, steps)
        tbq.lake.sync(log, lake, compact=False)
    monkeypatch.setattr("tbq.lake.scan._FEW_ROWS", 3)
    assert_reads_the_same(lake, log)


def test_a_table_that_somebody_else_rearranged(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    for steps in (range(5), range(5, 9)):
        grow(log, 4, steps)
        tbq.lake.sync(log, lake, compact=False)
    table = DeltaTable(lake / "scalars")
    table.optimize.z_order(["step"], writer_properties=WriterProperties(compression="SNAPPY"))
    assert len(table.file_uris()) == 1
    assert_reads_the_same(lake, log)
    grow(log, 4, range(9, 12))
    tbq.lake.sync(log, lake)
    assert_reads_the_same(lake, log)


def test_values_of_one_tag_in_files_of_somebody_else(tmp_path: Path) -> None:
    """Values are chosen by their position in log order, which such a file need not have."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    for steps in (range(5), range(5, 9)):
        for run in ("a", "b"):
            path = log / run / "events.out.tfevents.1.h"
            path.parent.mkdir(parents=True, exist_ok=True)
            events = [ef.text("note", step, b"%s %d" % (run.encode(), step), 100.0 + step) for step in steps]
            with path.open("ab") as file:
                file.write(b"".join(map(ef.record, [ef.version(99.0), *events] if 0 in steps else events)))
        tbq.lake.sync(log, lake, compact=False)
    DeltaTable(lake / "texts").optimize.z_order(
        ["step"], writer_properties=WriterProperties(compression="SNAPPY")
    )
    ours, theirs = tbq.open(lake), tbq.open(log)
    table = ours._reader.contents.table("texts")  # type: ignore[attr-defined]
    keys = scan.rows(table, ["run", "step", "row"], tags=["note"])
    assert keys["run"].to_pylist() == ["a"] * 9 + ["b"] * 9
    assert keys["step"].to_pylist() == [*range(9), *range(9)]
    found, want = (list(each.texts(tag="note").head(5)) for each in (ours, theirs))
    assert found == want


#: Characters of two UTF-16 units, which readers in Rust misread if they are escaped in JSON.
RARE = ("\U00020bb7", "\U0001f600", "\U0010ffff")


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
@pytest.mark.parametrize("escaped", [False, True])
def test_names_beyond_the_first_65536_characters(
    tmp_path: Path, escaped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their rows are found by run and by tag, and replaced once; also in lakes whose statistics have escapes."""
    log, lake = tmp_path / "log", tmp_path / "lake"

    def write(session: int, wall: float) -> None:
        for name in RARE:
            path = log / name / f"events.out.tfevents.{session}.h"
            path.parent.mkdir(parents=True, exist_ok=True)
            events = [ef.scalar(name, step, step / 2, wall + step) for step in range(3)]
            path.write_bytes(b"".join(map(ef.record, [ef.version(wall), *events])))

    if escaped:
        escaping = SimpleNamespace(dumps=lambda stats, **_: json.dumps(stats))
        monkeypatch.setattr("tbq.lake.datafiles.json", escaping)
    monkeypatch.setattr("tbq.lake.datafiles.MOST_ROWS", 3)
    for session, wall in ((1, 100.0), (2, 500.0)):
        write(session, wall)
        tbq.lake.sync(log, lake)
        for name in RARE:
            assert len(tbq.open(lake).scalars(run=name)) == len(tbq.open(lake).scalars(tag=name)) == 3
        assert_same(lake, log)
    if not escaped:
        rare = pl.col("tag") == RARE[0]
        assert pl.scan_delta(str(lake / "scalars")).filter(rare).collect().height == 3


def test_series_that_came_after_the_tags_were_read(tmp_path: Path) -> None:
    """Each table is as of its first use; a later table may have rows that an earlier one does not know."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    grow(log, 1, range(5))
    tbq.lake.sync(log, lake)
    before = tbq.open(lake)
    before.tags()
    grow(log, 2, range(5, 9))
    tbq.lake.sync(log, lake)
    assert "loss" in before.plot_text(tag="loss")


def test_tags_of_another_kind_are_known_to_a_scan(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    log.mkdir()
    events = [ef.version(99.0), ef.scalar("loss", 1, 0.5), ef.text("note", 1, b"hello")]
    (log / "events.out.tfevents.1.h").write_bytes(b"".join(map(ef.record, events)))
    tbq.lake.sync(log, lake)
    for path in (log, lake):
        assert len(tbq.open(path).scan(kind="scalars", tag="note").read_all()) == 0
        with pytest.raises(SelectionError):
            tbq.open(path).scan(kind="scalars", tag="nothing").read_all()


def test_a_filter_by_functions_of_strings(tmp_path: Path) -> None:
    """Some are not defined for the dictionary labels of tables, but are for Ray's strings."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    grow(log, 3, range(5))
    tbq.lake.sync(log, lake)
    where = pc.ends_with(ds.field("tag"), "ss") & ~pc.starts_with(ds.field("run"), "run001")
    for path in (log, lake):
        found = rows_passing(tbq.open(path)._reader, columns=["run", "step"], where=where).read_all()
        want = tbq.open(path).scalars("loss", run=["run000", "run002"]).to_arrow().select(["run", "step"])
        assert found.to_pylist() == want.to_pylist()


def test_values_of_one_moment_are_several(tmp_path: Path) -> None:
    """A text or a histogram that was logged twice at a step and time is two values."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    log.mkdir()
    events = [ef.version(99.0)]
    for number in range(2):
        events.append(ef.text("note", 1, b"text %d" % number))
        events.append(ef.histo("weights", 1, [1.0, 2.0 + number], [0.0, 1.0]))
    (log / "events.out.tfevents.1.h").write_bytes(b"".join(map(ef.record, events)))
    tbq.lake.sync(log, lake)
    ours, theirs = tbq.open(lake), tbq.open(log)
    assert ours.text("note") == theirs.text("note")
    assert str(ours.histogram("weights")) == str(theirs.histogram("weights"))


def test_a_tag_has_row_groups_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbq.export.parquet._GROUP", 40)
    monkeypatch.setattr("tbq.export.parquet._LEAST", 16)
    log, lake = tmp_path / "log", tmp_path / "lake"
    grow(log, 4, range(25))  # 100 rows of each tag
    with (log / "run000" / "events.out.tfevents.1.h").open("ab") as file:
        for tag in ("few", "fewer"):
            file.write(ef.record(ef.scalar(tag, 1, 1.0, 200.0)))
    tbq.lake.sync(log, lake)
    (path,) = DeltaTable(lake / "scalars").file_uris()
    metadata = pq.ParquetFile(path).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    tags = [(group.column(1).statistics.min, group.column(1).statistics.max) for group in groups]
    assert [pair for pair in dict.fromkeys(tags) if pair[0] != pair[1]] == [("few", "fewer")]
    assert all(group.num_rows <= 40 for group in groups)
    assert all(group.sorting_columns for group in groups)


def test_names_and_numbers_are_put_in_order() -> None:
    table = pa.table({"run": ["b", "a", "b", "a"], "tag": ["x", "x", "x", "x"], "row": [1, 7, 0, 3]})
    ordered = in_log_order(table, ("run", "tag"))
    assert ordered["row"].to_pylist() == [3, 7, 0, 1]
    assert in_log_order(ordered, ("run", "tag")) is ordered


@pytest.mark.long
def test_of_a_large_object_only_parts_are_fetched(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tbq.lake.bucket._WHOLE", 0)
    monkeypatch.setattr("tbq.export.parquet._GROUP", 4000)
    monkeypatch.setattr("tbq.export.parquet._LEAST", 1000)
    grow(tmp_path / "log", 4, range(1000))
    noise = random.Random(1)
    with (tmp_path / "log" / "run000" / "events.out.tfevents.1.h").open("ab") as file:
        events = (ef.scalar("noise", step, noise.random(), noise.random()) for step in range(40_000))
        file.write(b"".join(map(ef.record, events)))
    bucket.upload(tmp_path / "log", "runs")
    tbq.lake.sync(bucket.url("runs"), bucket.url("lake"))
    (size,) = (
        DeltaTable(bucket.url("lake/scalars"), storage_options={**bucket.storage, "allow_http": "true"})
        .get_add_actions(flatten=True)["size_bytes"]
        .to_pylist()
    )
    bucket.requests.clear()
    assert len(tbq.open(bucket.url("lake")).scalars(tag="loss")) == 4000
    ranges = [
        [int(end) for end in request.range.removeprefix("bytes=").split("-")]
        for request in bucket.requests
        if "/scalars/part" in request.path
    ]
    assert ranges and sum(last - first + 1 for first, last in ranges) < size / 2
    assert_reads_the_same(bucket.url("lake"), bucket.url("runs"))
