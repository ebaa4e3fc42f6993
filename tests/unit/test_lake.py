"""A lake in place of its log directory: everything that `LogDir` can do, selections, data files, other readers."""

from __future__ import annotations

import os
import pickle
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import eventfile as ef
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from lakes import assert_same, exact_rows, lake_rows, make_runs

import tbq
import tbq.lake
from tbq.errors import TbqError, UsageError
from tbq.lake import position, syncing
from tbq.lake.layout import TABLES

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[tbq.LogDir, tbq.LogDir]:
    """The sample log and its lake."""
    root = tmp_path_factory.mktemp("lake")
    tbq.demo(root / "runs")
    tbq.lake.sync(root / "runs", root / "lake")
    return tbq.open(root / "runs"), tbq.open(root / "lake")


@pytest.mark.parametrize("kind", [*TABLES, "projector"])
def test_every_table(both: tuple[tbq.LogDir, tbq.LogDir], kind: str) -> None:
    log, lake = (each.table(kind).to_arrow() for each in both)
    assert lake.schema == log.schema
    assert exact_rows(lake) == exact_rows(log)


QUESTIONS: dict[str, Callable[[tbq.LogDir], Any]] = {
    "runs": lambda log: log.runs,
    "files": lambda log: log.files,
    "selected": lambda log: log.scalars("val/*", run="lr=0.1", steps="100:").to_dicts(),
    "directory": lambda log: log.scalars(run="lr=0.1").shape,
    "series": lambda log: log.series("val/loss", run="diverged").values.tolist(),
    "tags": lambda log: log.tags(run="media").by_kind(),
    "tables": lambda log: [(name, table.shape) for name, table in log.tables(run="media").items()],
    "tensor": lambda log: log.tensor("embedding").tolist(),
    "tensor at a step": lambda log: log.tensor("embedding", step=50).tolist(),
    "histogram": lambda log: log.histogram("weights/layer1", step=100).total,
    "image": lambda log: log.image("samples", step=50).tobytes(),
    "waveform": lambda log: log.waveform("tone")[1].tolist(),
    "text": lambda log: log.text("notes", step=100),
    "mesh": lambda log: log.mesh("cube").vertices.tolist(),
    "nodes": lambda log: log.nodes().to_dicts(),
    "hparams": lambda log: log.hparams().wide().to_dicts(),
    "wide": lambda log: log.scalars(tag="val/loss").wide().to_dicts(),
    "summary": lambda log: log.summary(best={"val/loss": "min"}, top=3).to_dicts(),
    "show": lambda log: log.show("lr", run="diverged"),
    "sql": lambda log: log.sql("select run, count(*) n from scalars group by all order by 1").to_dicts(),
    "sql of wide": lambda log: log.sql("select * from wide order by run, step limit 9").to_dicts(),
    "dataset": lambda log: log.dataset().count_rows(),
    "scan": lambda log: sum(batch.num_rows for batch in log.scan(tag="lr")),
    "lazy": lambda log: log.lazy().filter(pl.col("tag") == "lr").collect().height,
    "reduce": lambda log: log.reduce(by="re:(lr=.*)/seed=.*", stats="mean", tag="val/loss").to_dicts(),
    "compare": lambda log: log.compare("lr=0.1/seed=0", "lr=0.03/seed=0", stats="last").to_dicts(),
    "plot": lambda log: log.plot_text("val/loss", width=60, height=12),
    "relative time": lambda log: log.scan(relative_time=True).read_all()["relative_time"].to_pylist(),
    "pickled": lambda log: pickle.loads(pickle.dumps(log)).scalars(tag="lr").to_dicts(),
}  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question(both: tuple[tbq.LogDir, tbq.LogDir], question: str) -> None:
    log, lake = both
    assert repr(QUESTIONS[question](lake)) == repr(QUESTIONS[question](log))


def test_media(both: tuple[tbq.LogDir, tbq.LogDir], tmp_path: Path) -> None:
    def written(log: tbq.LogDir, folder: Path) -> dict[str, bytes]:
        log.write_media(folder)
        return {
            str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }

    log, lake = both
    assert written(lake, tmp_path / "lake") == written(log, tmp_path / "log")


def test_what_a_lake_cannot_do(both: tuple[tbq.LogDir, tbq.LogDir]) -> None:
    _, lake = both
    for restarts in ("keep", "split", "last", "tensorboard"):
        with pytest.raises(UsageError, match="restarts='resume' keeps"):
            lake.scalars(restarts=restarts)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="restarts='resume' keeps"):
            lake.sql("select * from scalars", restarts=restarts)  # type: ignore[arg-type]
    with pytest.raises(tbq.TbqError, match="tag"):
        lake.scalars(tag="absent")


def test_others_read_it(tmp_path: Path) -> None:
    make_runs(tmp_path / "log", 5)
    tbq.lake.sync(tmp_path / "log", tmp_path / "lake")
    table = DeltaTable(tmp_path / "lake" / "scalars")
    rows = table.to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it by its name
    counts = duckdb.sql(
        "select run, count(*) from rows where tag = 'loss' group by run order by run"
    ).fetchall()
    assert counts == [(f"run{number:03}", 20) for number in range(5)]
    frame = pl.scan_delta(str(tmp_path / "lake" / "scalars")).filter(pl.col("tag") == "acc").collect()
    assert frame.height == 100
    sources = set(table.to_pyarrow_table()["source"].to_pylist())
    assert sources == {str(path) for path in (tmp_path / "log").rglob("*tfevents*")}


def assert_every_table(lake: Path, log: Path) -> None:
    for kind in TABLES:
        found, want = (tbq.open(path).table(kind).to_arrow() for path in (lake, log))
        assert exact_rows(found) == exact_rows(want), kind


def _update(table: Path) -> None:
    DeltaTable(table).update({"row": "row"})


def _overwrite(table: Path) -> None:
    pl.read_delta(str(table)).write_delta(str(table), mode="overwrite")


@pytest.mark.long
@pytest.mark.parametrize("rewrite", [_update, _overwrite])
def test_a_sync_of_what_others_wrote(tmp_path: Path, rewrite: Callable[[Path], None]) -> None:
    """deltalake and polars write string views, and their files declare them."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    tbq.demo(log)
    tbq.lake.sync(log, lake)
    for kind in TABLES:
        if (lake / kind).exists():
            rewrite(lake / kind)
    assert_every_table(lake, log)
    os.utime(min(log.rglob("*.tfevents.*")), (5e8, 5e8))  # this run is read again
    assert tbq.lake.sync(log, lake, compact=True).replaced == 1
    assert_every_table(lake, log)


def test_data_files_are_sorted_and_have_statistics(tmp_path: Path) -> None:
    make_runs(tmp_path / "log", 5)
    tbq.lake.sync(tmp_path / "log", tmp_path / "lake")
    table = DeltaTable(tmp_path / "lake" / "scalars")
    rows = pq.read_table(table.file_uris()[0]).to_pylist()
    assert rows == sorted(rows, key=lambda row: (row["tag"], row["run"], row["row"]))
    (stats,) = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    assert (stats["min.run"], stats["max.run"], stats["min.tag"], stats["max.tag"]) == (
        "run000",
        "run004",
        "acc",
        "loss",
    )
    assert (stats["min.step"], stats["max.step"], stats["num_records"]) == (0, 19, 200)


def test_a_data_file_ends_where_a_run_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data files do not share runs, so that rows of several files need not be sorted."""
    make_runs(tmp_path / "log", 7)
    for most in (100, 25):  # more than a run has, and less
        monkeypatch.setattr("tbq.lake.datafiles.MOST_ROWS", most)
        lake = tmp_path / f"lake{most}"
        tbq.lake.sync(tmp_path / "log", lake)
        table = DeltaTable(lake / "scalars")
        ranges = sorted(
            (stats["min.run"], stats["max.run"])
            for stats in pa.table(table.get_add_actions(flatten=True)).to_pylist()
        )
        if most == 100:
            assert len(ranges) == 4
            assert all(before[1] < after[0] for before, after in zip(ranges, ranges[1:], strict=False))
        else:
            assert len(ranges) == 14
        assert_same(lake, tmp_path / "log")
        for tag in ("loss", ["acc", "loss"], None):
            ours, theirs = (tbq.open(each).scalars(tag=tag).to_dicts() for each in (lake, tmp_path / "log"))
            assert ours == theirs


def test_selections(tmp_path: Path) -> None:
    make_runs(tmp_path / "log", 4)
    lake = tmp_path / "lake"
    for _ in range(2):
        tbq.lake.sync(tmp_path / "log", lake, run=["run001", "run002"], tag="l*", kinds="scalars")
    rows = lake_rows(lake, "scalars")
    assert {row[0] for row in rows} == {"run001", "run002"} and {row[1] for row in rows} == {"loss"}
    with (tmp_path / "log" / "run001" / "events.out.tfevents.1.h").open("ab") as file:
        file.write(ef.record(ef.scalar("loss", 20, 1.0, 120.0)) + ef.record(ef.scalar("acc", 20, 1.0, 120.0)))
    assert (
        tbq.lake.sync(tmp_path / "log", lake, run=["run001", "run002"], tag="l*", kinds="scalars").rows == 1
    )
    assert len(lake_rows(lake, "scalars")) == len(rows) + 1
    assert {row[1] for row in lake_rows(lake, "tags")} == {"loss"}


def test_a_selection_of_a_run_with_restarts(tmp_path: Path) -> None:
    """Tags that are not selected do not hide rows of selected tags, and are not counted."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    log.mkdir()
    first, second = log / "events.out.tfevents.1.h", log / "events.out.tfevents.2.h"

    def scalars(tag: str, steps: range, wall: float) -> bytes:
        return b"".join(ef.record(ef.scalar(tag, step, 1.0, wall + step)) for step in steps)

    def check() -> None:
        tbq.lake.sync(log, lake, tag="loss")
        ours, theirs = tbq.open(lake), tbq.open(log)
        for kind in ("scalars", "tags"):
            want = theirs.table(kind, tag="loss").to_arrow().to_pylist()
            assert ours.table(kind).to_arrow().to_pylist() == want
        (about,) = ours.table("runs").to_dicts()
        points = theirs.scalars(tag="loss").to_dicts()
        assert about["events"] == len(points)
        assert about["last_step"] == max(row["step"] for row in points)

    first.write_bytes(
        ef.record(ef.version(100.0)) + scalars("loss", range(5), 100) + scalars("acc", range(9), 100)
    )
    check()
    with first.open("ab") as file:
        file.write(scalars("acc", range(9, 20), 100) + scalars("loss", range(5, 7), 100))
    check()
    second.write_bytes(ef.record(ef.version(500.0)) + scalars("acc", range(3, 30), 500))
    check()
    with second.open("ab") as file:
        file.write(scalars("acc", range(30, 40), 500) + scalars("loss", range(4, 9), 500))
    check()
    # Another tag starts over: none of its earlier rows is left.
    (log / "events.out.tfevents.3.h").write_bytes(
        ef.record(ef.version(900.0)) + scalars("acc", range(2), 900) + scalars("loss", range(6, 8), 900)
    )
    check()


def test_a_sync_in_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large logs are committed run by run, and old positions are deleted."""
    monkeypatch.setattr("tbq.lake.share.SHARE_RUNS", 2)
    monkeypatch.setattr("tbq.lake.position._KEEP_SECONDS", -1.0)
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_runs(log, 9)
    assert tbq.lake.sync(log, lake).added == 9
    assert_same(lake, log)
    for path in list(log.rglob("*tfevents*"))[:3]:
        path.write_bytes(path.read_bytes()[:500])
    assert tbq.lake.sync(log, lake).replaced == 3
    assert_same(lake, log)
    assert len(list((lake / "_tbq" / "positions").iterdir())) < 6


def test_rows_that_were_made_by_other_rules_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the sync is stopped in between."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    for run in "abc":
        (log / run).mkdir(parents=True)
        (log / run / "events.out.tfevents.1.h").write_bytes(
            ef.event_file([ef.version(), ef.scalar("loss", 1, 1.0)])
        )
    monkeypatch.setattr("tbq.lake.share.SHARE_RUNS", 1)
    tbq.lake.sync(log, lake)
    assert not tbq.lake.sync(log, lake)
    monkeypatch.setattr("tbq.lake.position.RULES", position.RULES + 1)
    commit, calls = syncing.Committer.commit, []

    def stopped(self: Any, *args: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        commit(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(syncing.Committer, "commit", stopped)
        with pytest.raises(KeyboardInterrupt):
            tbq.lake.sync(log, lake)
    assert tbq.lake.sync(log, lake).replaced == 2
    assert not tbq.lake.sync(log, lake)
    assert_same(lake, log)


def test_an_unfinished_record_is_a_loss_once_nobody_writes_it(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_runs(log, 1)
    (path,) = log.rglob("*tfevents*")
    path.write_bytes(path.read_bytes()[:-3])
    tbq.lake.sync(log, lake)
    assert_same(lake, log)
    assert not tbq.lake.sync(log, lake)
    hours_ago = time.time() - 7200
    os.utime(path, (hours_ago, hours_ago))
    tbq.lake.sync(log, lake)
    assert_same(lake, log)
    assert lake_rows(lake, "problems")[0][1] == "error"


def test_names_of_any_bytes(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    for name in (b"a'b", b"\xff\xfe", "ü/é".encode(), b"new\nline", b"x" * 240):
        folder = os.fsencode(log) + b"/" + name
        os.makedirs(folder)
        with open(folder + b"/events.out.tfevents.1.h", "wb") as file:
            file.write(ef.record(ef.version(99.0)) + ef.record(ef.scalar("t" * 300, 1, 2.0, 100.0)))
    tbq.lake.sync(log, lake)
    assert_same(lake, log)
    path = os.fsencode(log) + b"/\xff\xfe/events.out.tfevents.1.h"
    with open(path, "ab") as file:
        file.write(ef.record(ef.scalar(b"\xff", 2, 3.0, 101.0)))
    assert tbq.lake.sync(log, lake).grown == 1
    assert_same(lake, log)


@pytest.mark.parametrize(
    "source",
    [
        "runs",
        "x:runs",
        "./x:y/../runs",
        "runs/*",
        "x:runs/*",
        "x:runs/a[b]",
        {"x": "runs"},
        {"x": "runs/*"},
        ["x:runs"],
    ],
)
def test_a_lake_belongs_to_one_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any
) -> None:
    """A relative path means another directory elsewhere, and is refused there."""
    lake = tmp_path / "lake"
    for number, place in enumerate(("a[1]", "b")):
        folder = tmp_path / place / "runs" / "a[b]"
        folder.mkdir(parents=True)
        (tmp_path / place / "x:y").mkdir()
        (folder / "events.out.tfevents.1.h").write_bytes(
            ef.event_file([ef.version(), ef.scalar("loss", number, 1.0)])
        )
    monkeypatch.chdir(tmp_path / "a[1]")
    assert tbq.lake.sync(source, lake).added == 1
    assert not tbq.lake.sync(source, lake)
    before = tbq.open(lake).scalars().to_dicts()
    monkeypatch.chdir(tmp_path / "b")
    with pytest.raises(UsageError, match="this lake was made with sources="):
        tbq.lake.sync(source, lake)
    assert tbq.open(lake).scalars().to_dicts() == before
    assert all(Path(path).is_absolute() for path in tbq.open(lake).table("files")["path"].tolist())


def outcome(ask: Callable[[], Any], path: Path) -> Any:
    """The result of a query: rows, or an error without paths."""
    try:
        return ask()
    except TbqError as failure:
        return type(failure), str(failure).replace(str(path), "…")


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
@pytest.mark.long
def test_tags_that_restarts_left_nothing_of(tmp_path: Path) -> None:
    """The log still lists them with empty tables, and so does its lake, also after growth."""
    log, lake = tmp_path / "log", tmp_path / "lake"

    def write(path: Path, wall: float, tags: dict[str, range]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        events = [ef.scalar(tag, step, 1.0, wall + step) for tag, steps in tags.items() for step in steps]
        if not path.exists():
            events = [ef.version(wall - 1), ef.session_log(1, 3, wall - 0.5), *events]
        with path.open("ab") as file:
            file.write(ef.event_file(events))

    write(log / "a" / "events.out.tfevents.1.h", 100.0, {"loss": range(10), "late": range(5, 10)})
    write(log / "b" / "events.out.tfevents.1.h", 100.0, {"loss": range(10)})
    tbq.lake.sync(log, lake)
    write(log / "a" / "events.out.tfevents.2.h", 1000.0, {"loss": range(3, 8)})
    for _ in range(2):
        tbq.lake.sync(log, lake)
        assert "late" not in tbq.open(lake).table("tags")["tag"].tolist()
        for tag in ("late", ["late", "loss"], "l*", "re:la.*", "absent"):
            for run in (None, "a", "b"):
                asked = {"tag": tag, "run": run}
                for ask in (
                    lambda log, asked: log.scalars(**asked).to_dicts(),
                    lambda log, asked: log.scalars(**asked).wide().to_dicts(),
                    lambda log, asked: log.tensors(**asked).to_dicts(),
                    lambda log, asked: log.scan(**asked).read_all().to_pylist(),
                    lambda log, asked: log.scan(kind="texts", **asked).read_all().to_pylist(),
                    lambda log, asked: {name: len(table) for name, table in log.tables(**asked).items()},
                    lambda log, asked: log.summary(**asked).to_dicts(),
                    lambda log, asked: log.table("tags", **asked).to_dicts(),
                ):
                    got, want = (
                        outcome(lambda: ask(tbq.open(path), asked), path)  # noqa: B023
                        for path in (lake, log)
                    )
                    assert got == want, asked
        assert_same(lake, log)
        write(log / "a" / "events.out.tfevents.2.h", 1000.0, {"loss": range(8, 12)})


def test_an_item_that_is_a_name_takes_that_alone(tmp_path: Path) -> None:
    """Whether the tag of that name comes first or other matching tags; and after it is gone."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    items = ["loss[0]", "note"]

    def add(run: str, *tags: str) -> None:
        (log / run).mkdir(parents=True, exist_ok=True)
        path = log / run / "events.out.tfevents.1.h"
        events = [] if path.exists() else [ef.version()]
        events += [ef.text(tag, 1, b"x") if "note" in tag else ef.scalar(tag, 1, 1.0) for tag in tags]
        with path.open("ab") as file:
            file.write(ef.event_file(events))

    def same() -> None:
        tbq.lake.sync(log, lake, tag=items)
        assert not tbq.lake.sync(log, lake, tag=items)
        want = tbq.open(log).tables(tag=items)
        got = tbq.open(lake).tables()
        assert {name: exact_rows(table.to_arrow()) for name, table in got.items()} == {
            name: exact_rows(table.to_arrow()) for name, table in want.items()
        }

    add("a", "loss0", "other", "note/text_summary")
    same()
    add("b", "loss[0]")
    same()
    assert tbq.open(lake).scalars()["tag"].tolist() == ["loss[0]"]
    add("c", "loss0", "note")  # the name itself comes before that with torch's suffix
    same()
    assert tbq.open(lake).texts()["tag"].tolist() == ["note"]
    add("a", "loss0")
    same()
    (log / "b" / "events.out.tfevents.1.h").unlink()
    (log / "c" / "events.out.tfevents.1.h").unlink()
    same()
    assert tbq.open(lake).scalars()["tag"].tolist() == ["loss0", "loss0"]


def test_a_scan_knows_names_of_later_groups(tmp_path: Path) -> None:
    """A log is scanned a few runs at a time; only the last run may have a tag that equals the pattern."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    for run in ("a", "b"):
        (log / run).mkdir(parents=True)
        tags = ["loss0"] if run == "a" else ["loss0", "loss[0]"]
        events = [ef.scalar(tag, step, 1.0) for tag in tags for step in range(2000)]
        (log / run / "events.out.tfevents.1.h").write_bytes(ef.event_file([ef.version(), *events]))
    tbq.lake.sync(log, lake)
    for path in (log, lake):
        for tag in ("loss[0]", ["loss[0]"], ["loss[0]", "absent*"]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tbq.TbqWarning)
                rows = tbq.open(path).scan(tag=tag).read_all()
                assert rows.to_pylist() == tbq.open(path).scalars(tag=tag).to_dicts()
            assert set(rows["tag"].to_pylist()) == {"loss[0]"}
