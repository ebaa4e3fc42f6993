"""Hostile logs of other trackers: values of wrong types, names that lead out, damaged files."""

from __future__ import annotations

import builtins
import errno
import os
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
import trackers

import tbq
import tbq.lake
from tbq.source.formats.sink import Sink

pytestmark = pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")

MLFLOW = {
    "experiments": ("experiment_id", "name"),
    "runs": ("run_uuid", "name", "status", "start_time", "end_time", "experiment_id"),
    "metrics": ("key", "value", "timestamp", "run_uuid", "step", "is_nan"),
    "params": ("key", "value", "run_uuid"),
    "tags": ("key", "value", "run_uuid"),
}
TRACKIO = {
    "metrics": ("id", "run_id", "timestamp", "run_name", "step", "metrics"),
    "configs": ("id", "run_id", "run_name", "config", "created_at"),
}
CELLS = [
    (make, table, column)
    for make, schema in ((trackers.mlflow, MLFLOW), (trackers.trackio, TRACKIO))
    for table, columns in schema.items()
    for column in columns
]


@pytest.mark.parametrize(
    ("make", "table", "column"), CELLS, ids=[f"{m.__name__}-{t}-{c}" for m, t, c in CELLS]
)
def test_values_of_other_types(make: Callable[[Path], Path], table: str, column: str, tmp_path: Path) -> None:
    """SQLite keeps a value of any type in any column."""
    for place, value in enumerate([None, "text", b"\xff\xfe", 1e308, -1, 2**62, ""]):
        path = make(tmp_path / f"{place}.db")
        with sqlite3.connect(path) as db:
            try:
                db.execute(f"update {table} set {column} = ?", (value,))
            except sqlite3.Error:
                continue  # it must be unique, or a whole number
            finally:
                db.commit()
        db.close()
    log = tbq.open(tmp_path, source=["mlflow", "trackio"])
    log.scalars()
    log.hparams()
    with tbq.follow(tmp_path) as follower:
        follower.poll()
        assert len(follower.table("scalars")) == len(log.scalars())
    if (table, column) in (("metrics", "value"), ("metrics", "metrics")):
        assert any("value has the wrong type" in each.message for each in log.problems)


@pytest.mark.parametrize("name", ["../../evil", "a/../../evil", "..", "/evil/", "a//./b"])
def test_names_that_lead_out(name: str, tmp_path: Path) -> None:
    for writer, path in (("trackio", trackers.trackio(tmp_path / "log" / "p.db")), ("mlflow", tmp_path)):
        if writer == "mlflow":
            run = trackers.mlflow_files(tmp_path / "log").parent.parent
            (run / "tags" / "mlflow.runName").write_text(name)
            continue
        with sqlite3.connect(path) as db:
            db.execute("update metrics set run_name = ?", (name,))
        db.close()
    (tmp_path / "out").mkdir()
    log = tbq.open(tmp_path / "log")
    assert len(log.runs) == 2
    for run in log.runs:
        assert not {"", ".", ".."} & {*run.split("/")}
    tbq.rewrite(tmp_path / "log", tmp_path / "out" / "new")
    assert tbq.open(tmp_path / "out" / "new").runs == log.runs
    assert sorted(each.name for each in tmp_path.iterdir()) == ["log", "out"]
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["new"]


@pytest.mark.parametrize("other", ["text", 7, None, b"\xff", 0.5])
def test_columns_of_other_types(other: Any, tmp_path: Path) -> None:
    """A Parquet file has the types that it says, whatever Neptune writes."""
    import pyarrow as pa
    from pyarrow import parquet

    path = trackers.neptune(tmp_path / "log")
    table = parquet.read_table(path)
    trackers.lightning(tmp_path / "log")
    for place, name in enumerate(table.column_names):
        parquet.write_table(table.set_column(place, name, pa.array([other] * len(table))), path)
        log = tbq.open(tmp_path / "log")
        log.scalars()
        log.hparams()
        assert log.series("loss", run="lightning_logs/version_0").steps.tolist() == trackers.STEPS


def test_named_pipes_are_not_opened(tmp_path: Path) -> None:
    """Opening one would wait for its writer for ever."""
    for name in (
        "run-x.wandb",
        "p.db",
        "metrics.csv",
        "result.json",
        "log.jsonl",
        "trainer_state.json",
        "n.parquet",
    ):
        os.mkfifo(tmp_path / name)
    beside = [
        trackers.lightning(tmp_path).parent / "hparams.yaml",
        trackers.ray(tmp_path).parent / "params.json",
    ]
    beside.append(trackers.mlflow_files(tmp_path).parent.parent / "tags" / "mlflow.parentRunId")
    for path in beside:
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    program = "import sys, tbq; log = tbq.open(sys.argv[1]); print(len(log.runs), len(log.scalars()) > 0)"
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["3", "True"], done.stderr


def test_writers_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow's database is not in WAL mode: a writer waits for readers."""
    monkeypatch.setattr("tbq.source.formats.mlflow._AT_ONCE", 2)
    path = trackers.mlflow(tmp_path / "mlflow.db")
    written = []
    rows = Sink.rows

    def write(self: Sink, *columns: Any) -> None:
        rows(self, *columns)
        with sqlite3.connect(path, timeout=0) as db:
            db.execute("insert into metrics values ('late', 0.5, 1700000009000, 'c3', 40, 0)")
        written.append(columns)
        db.close()

    monkeypatch.setattr(Sink, "rows", write)
    assert tbq.open(tmp_path).series("loss", run="exp/top").steps.tolist() == trackers.STEPS
    assert len(written) == 2


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The directories whose files cannot be read."""
    folders: set[str] = set()
    opens = builtins.open

    def opened(path: Any, *args: Any, **more: Any) -> Any:
        if isinstance(path, str | os.PathLike) and any(os.fspath(path).startswith(each) for each in folders):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return opens(path, *args, **more)

    monkeypatch.setattr(builtins, "open", opened)
    return folders


@pytest.mark.parametrize("writer", trackers.ALL)
def test_a_log_that_cannot_be_read_for_a_while(writer: str, tmp_path: Path, failing: set[str]) -> None:
    """It is a problem. The lake and a follower keep its rows, and read it once they can."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    make, runs = trackers.ALL[writer]
    make(log / "of")
    (log / "events").mkdir()
    (log / "events" / "events.out.tfevents.1.h").write_bytes(
        ef.event_file([ef.version(), ef.scalar("loss", 1, 1)])
    )
    tbq.lake.sync(log, lake)
    before = repr(tbq.open(lake).scalars().to_dicts())  # times may be NaN
    with tbq.follow(log, on_error="ignore") as follower:
        follower.poll()
        failing.add(str(log / "of"))
        assert tbq.open(log).runs == ["events"]
        assert {problem.message for problem in tbq.open(log).problems} == {
            "cannot be read: input/output error"
        }
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert not tbq.lake.sync(log, lake)
        assert "input/output error; the lake keeps its rows of it" in str(said[0].message)
        assert repr(tbq.open(lake).scalars().to_dicts()) == before
        for path in (log / "of").rglob("*"):
            os.utime(path, (2e9, 2e9))
        (log / "new").mkdir()  # so that the follower searches again
        update = follower.poll()
        assert not update.runs.gone and repr(follower.table().to_dicts()) == before
        assert {problem.message for problem in update.problems} <= {"cannot be read: input/output error"}
        assert follower.runs == ["events", *(f"of/{run}" for run in sorted(runs))]
        failing.clear()
        (log / "newer").mkdir()
        follower.poll()
        assert repr(follower.table().to_dicts()) == repr(tbq.open(log).scalars().to_dicts()) == before
        assert not follower._unfetchable
    assert not tbq.lake.sync(log, lake).gone
    assert repr(tbq.open(lake).scalars().to_dicts()) == before


def test_a_file_beside_event_files_need_not_be_readable(tmp_path: Path, failing: set[str]) -> None:
    trackers.lightning(tmp_path)
    folder = tmp_path / "lightning_logs" / "version_0"
    (folder / "events.out.tfevents.1.h").write_bytes(ef.event_file([ef.version(), ef.scalar("loss", 1, 1)]))
    failing.add(str(folder / "metrics.csv"))
    assert tbq.open(tmp_path).problems == []


def test_a_lock_that_is_gone_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbq.source.formats.sqlite._PATIENCE", 0.01)
    path = trackers.mlflow(tmp_path / "mlflow.db")
    with tbq.follow(tmp_path, on_error="ignore") as follower:
        follower.poll()
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("insert into metrics values ('loss', 5.0, 1700000050000, 'a1', 50, 0)")
        db.execute("begin exclusive")
        assert {problem.message for problem in follower.poll().problems} == {"is locked by another program"}
        db.execute("rollback")
        db.close()
        update = follower.poll()
        assert (update.problems, follower.runs) == ([], ["exp/top", "exp/top/inner"])
        assert follower.table().to_dicts() == tbq.open(tmp_path).scalars().to_dicts()
