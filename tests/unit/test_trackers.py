"""Logs of other trackers: the same training in every format gives the same tables, opened, followed and synced."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest
import trackers
from served import Asked
from trackers import ALL, HPARAMS, LOSS, STEPS, T0, history, run_record, wandb_file

import tbq
from tbq.source.formats.recognise import may_be_log

TIMES = [T0, T0 + 1, T0 + 2, T0 + 3]
UNTIMED = {"lightning", "keras", "ultralytics", "csv", "huggingface", "jsonl"}
WITHOUT_HPARAMS = {"keras", "csv", "huggingface", "jsonl"}


def same(table: tbq.Table, other: tbq.Table) -> bool:
    """Whether two tables have the same rows; NaN equals NaN."""
    return list(map(repr, table)) == list(map(repr, other))


def rows(log: tbq.LogDir) -> list[tuple[str, str, int, str]]:
    return [(row.run, row.tag, row.step, repr(row.value)) for row in log.scalars()]


@pytest.mark.parametrize("writer", ALL)
def test_the_same_tables(writer: str, tmp_path: Path) -> None:
    make, runs = ALL[writer]
    make(tmp_path)
    log = tbq.open(tmp_path)
    assert log.runs == sorted(runs)
    for run, tag in runs.items():
        series = log.series(tag, run=run)
        assert series.steps.tolist() == STEPS and series.values.tolist() == LOSS
        if writer not in UNTIMED:
            assert series.wall_times.tolist() == TIMES
        if writer not in WITHOUT_HPARAMS:
            hparams = {
                row.name: row.number if row.type == "number" else row.string for row in log.hparams(run=run)
            }
            assert {name: hparams[name] for name in HPARAMS} == HPARAMS | (
                {"lr": "0.1"} if writer == "neptune" else {}
            )
    name = "mlflow" if writer == "mlflow_files" else writer
    assert {row.writer for row in log.sql("select writer from runs")} == {name}
    assert tbq.open(tmp_path, source=name).runs == sorted(runs)
    with pytest.raises(tbq.errors.SourceError):
        tbq.open(tmp_path, source="events")
    assert log.problems == []
    assert [each.code for each in tbq.doctor(tmp_path) if each.severity != "info"] == []


@pytest.mark.parametrize("writer", ALL)
def test_rewritten_for_tensorboard(writer: str, tmp_path: Path) -> None:
    make, runs = ALL[writer]
    make(tmp_path / "log")
    tbq.rewrite(tmp_path / "log", tmp_path / "new")
    log = tbq.open(tmp_path / "new")
    assert log.runs == sorted(runs) and all(
        "tfevents" in row.path for row in log.sql("select path from files")
    )
    for run, tag in runs.items():
        assert log.series(tag, run=run).values.tolist()[:3] == pytest.approx(LOSS[:3])
        assert {row.dtype for row in log.sql(f"select dtype from tags where tag = '{tag}'")} == {"float32"}
    # TensorBoard's server stops at an event whose time is NaN: those without a time get that of the log's file.
    old = tbq.open(tmp_path / "log")
    times = {row.wall_time for row in log.scalars()}
    timed = {row.wall_time for row in old.scalars() if math.isfinite(row.wall_time)}
    files = {path.stat().st_mtime for path in (tmp_path / "log").rglob("*")}
    assert timed <= times and times - timed <= files
    assert (writer in UNTIMED) == bool(times - timed)


def test_states_are_the_same_in_every_view(tmp_path: Path) -> None:
    for make, _ in ALL.values():
        make(tmp_path)
    asked = Asked(tmp_path)
    while asked.log.poll().left:
        pass
    shown = {run["name"]: run["state"] for run in asked.json("runs")["runs"]}
    assert shown == {row.run: row.state for row in tbq.open(tmp_path).sql("select run, state from runs")}


def test_all_at_once(tmp_path: Path) -> None:
    for make, _ in ALL.values():
        make(tmp_path)
    with tbq.SummaryWriter(tmp_path / "tb") as writer:
        writer.add_scalar("loss", 0.5, 1)
    log = tbq.open(tmp_path)
    assert log.runs == sorted(["tb", *(run for _, runs in ALL.values() for run in runs)])
    with tbq.follow(tmp_path) as follower:
        follower.poll()
        assert same(follower.table("scalars"), log.scalars())
        assert same(follower.table("hparams"), log.hparams())
        assert not follower.poll()
    tbq.lake.sync(tmp_path, tmp_path.parent / "lake")
    assert rows(tbq.open(tmp_path.parent / "lake")) == rows(log)
    assert tbq.lake.sync(tmp_path, tmp_path.parent / "lake").rows == 0
    assert tbq.open(tmp_path, source=["events", "wandb"]).runs == [
        "tb",
        "wandb/offline-run-20240101_000000-abc",
    ]


GROWING = {
    "wandb": [1, 6, 13, 40], "lightning": [1, 7, 30], "keras": [5, 11], "ray": [17, 90], "jsonl": [3, 30],
    "mlflow_files": [9, 21], "ultralytics": [70, 3], "csv": [1],
}  # fmt: skip


@pytest.mark.parametrize("writer", GROWING)
def test_followed_while_it_grows(writer: str, tmp_path: Path) -> None:
    source = ALL[writer][0](tmp_path / "whole")
    folder = tmp_path / "grows"
    shutil.copytree(tmp_path / "whole", folder)
    path = folder / source.relative_to(tmp_path / "whole")
    data = source.read_bytes()
    path.write_bytes(b"")
    counted = 0
    with tbq.follow(folder, on_error="ignore") as follower:
        for size, piece in enumerate(trackers.pieces(data, GROWING[writer])):
            with path.open("ab") as file:
                file.write(piece[len(piece[: path.stat().st_size]) :])
            update = follower.poll()
            if update:
                retracted = [row for row in update.retracted_rows if row.kind == "scalars"]
                counted += len(update.table("scalars")) - len(retracted)
            if size % 5 == 0 and follower.runs:
                opened = tbq.open(folder, source=None)
                assert same(follower.table("scalars"), opened.scalars(on_error="ignore"))
        assert same(follower.table("scalars"), tbq.open(folder).scalars())
        assert counted == len(follower.table("scalars"))


@pytest.mark.parametrize("writer", ["mlflow", "trackio"])
def test_a_database_while_another_process_writes(writer: str, tmp_path: Path) -> None:
    path = ALL[writer][0](tmp_path)
    db = sqlite3.connect(path)
    if writer == "trackio":
        db.execute("pragma journal_mode=wal")
    insert = {
        "mlflow": "insert into metrics values ('loss', 0.5, 1700000009000, 'b2', 40, 0)",
        "trackio": "insert into metrics(run_id, timestamp, run_name, step, metrics) "
        "values ('r', '2023-11-14T22:13:29+00:00', 'first', 40, '{\"loss\": 0.5}')",
    }[writer]
    lake = tmp_path.parent / f"{tmp_path.name}-lake"
    tbq.lake.sync(tmp_path, lake)
    with tbq.follow(tmp_path) as follower:
        follower.poll()
        before = len(follower.table("scalars"))
        with db:
            db.execute(insert)
        assert [(row.step, row.value) for row in follower.poll().tables["scalars"]] == [(40, 0.5)]
        assert len(follower.table("scalars")) == before + 1
        db.execute("begin")
        db.execute(insert.replace("40", "50"))  # not committed
        assert not follower.poll()
        db.rollback()
    assert tbq.lake.sync(tmp_path, lake).rows > 0
    assert rows(tbq.open(lake)) == rows(tbq.open(tmp_path))
    db.close()


def test_a_locked_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbq.source.formats.sqlite._PATIENCE", 0.01)
    path = trackers.mlflow(tmp_path / "mlflow.db")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("begin exclusive")
    with pytest.raises(tbq.errors.SourceError, match="locked by another program"):
        tbq.open(tmp_path)
    with tbq.follow(tmp_path, on_error="ignore") as follower:
        assert "locked" in follower.poll().problems[0].message
        db.execute("rollback")
        db.close()
        path.touch()
        follower.poll()
        assert follower.runs == ["exp/top", "exp/top/inner"]


def test_reading_leaves_nothing_beside_a_database(tmp_path: Path) -> None:
    path = trackers.trackio(tmp_path / "proj.db")
    assert os.listdir(tmp_path) == ["proj.db"]
    assert len(tbq.open(path.parent).scalars()) == len(STEPS)
    assert os.listdir(tmp_path) == ["proj.db"]


def test_other_databases_are_no_logs(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database")
    with sqlite3.connect(tmp_path / "app.db") as db:
        db.execute("create table metrics(a)")
    db.close()
    with sqlite3.connect(tmp_path / "view.db") as db:  # a view may run for ever
        for name in ("experiments", "runs", "params", "tags"):
            db.execute(f"create table {name}(a)")
        db.execute(
            "create view metrics as with recursive n(i) as (select 1 union all select i from n) select i from n"
        )
    db.close()
    with pytest.raises(tbq.errors.SourceError, match="no event files here"):
        tbq.open(tmp_path)


def test_an_unknown_schema(tmp_path: Path) -> None:
    path = trackers.mlflow(tmp_path / "mlflow.db")
    with sqlite3.connect(path) as db:
        db.execute("alter table metrics rename column is_nan to odd")
    db.close()
    with pytest.raises(tbq.errors.SourceError, match=r"schema that tbq does not know.*'is_nan'"):
        tbq.open(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", "step,text\n1,hello\n"),
        ("results.csv", "model,accuracy\na,0.5\n"),
        ("dataset.csv", "epoch,x,a\n1,2,3\n"),
        ("metrics.csv", "name,value\nloss,0.5\n"),
        (
            "log.csv",
            "run,tag,step,wall_time,value\n1,7,0,1.5,0.5\n",
        ),  # exports, runs and tags named by numbers
        ("log.csv", "run,step,loss\n1,0,0.5\n"),
        ("log.csv", "step,run,loss\n0,1,0.5\n"),
        ("log.csv", "group,tag,step,mean,loss\n1,7,0,1.5,0.5\n"),
        ("log.csv", "Wall time,Step,Value\n1.5,0,0.5\n"),  # a download of TensorBoard
        ("log.csv", "lr,batch_size,epoch,val_loss\n0.1,32,9,0.5\n"),  # the results of a sweep
        ("log.csv", "epoch,seed,val_loss\n9,0,0.5\n"),
        ("log.csv", "threshold,step,precision\n0.5,0,1\n"),
        ("log.csv", "step,x,y\n0,0.5,1\n"),  # a trajectory
        ("log.csv", "epoch,requests,errors\n1700000000,5,1\n"),  # Unix time
        ("log.csv", "epoch,name,loss\n0,relu,0.5\n"),
        ("log.csv", "epoch,loss,acc\n0.5,1,1\n"),
        ("log.csv", "epoch,loss,acc\n-1,1,1\n"),
        ("log.csv", "step,acc\n0,\n"),
        ("metrics.csv", "step,seconds\nload,0.5\n"),
        ("metrics.csv", "step,name\n1,load\n"),
        ("train.jsonl", '{"step": 1, "text": "hello"}\n'),
        ("train.jsonl", '{"step": 1, "x": 1, "text": "' + "long " * 99 + '"}\n'),
        ("train.jsonl", '{"step": 5, "x": 1}\n{"step": 1, "x": 1}\n'),
        ("train.jsonl", '{"step": 5, "x": 1, "ids": [1]}\n'),
        ("train.jsonl", '{"torn\n{"step": 5, "x": 1}\n'),
        ("result.json", '{"accuracy": 0.5, "epoch": 3}\n'),
        ("trainer_state.json", "{}\n"),
        ("meta.yaml", "name: x\n"),
        ("x.parquet", "PAR1xxxxPAR1"),
        ("run.wandb", "not W&B"),
        ("big.csv", "epoch,loss\n" + '"' * 100_000),
    ],
)
def test_files_that_are_no_logs(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert may_be_log(name)
    with pytest.raises(tbq.errors.SourceError, match="no event files here"):
        tbq.open(tmp_path)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("epoch,train_loss,acc\n0,1,\n", ["train_loss"]),
        ("val_loss,loss,epoch\n1,2,0\n", ["loss", "val_loss"]),
        ("timestamp,global_step,reward,fps\n5,0,1,9\n", ["fps", "reward"]),
        ("epoch,step,lr,loss\n,7,0.1,2\n", ["loss", "lr"]),
    ],
)
def test_logs_of_training_loops(text: str, tags: list[str], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(text)
    log = tbq.open(tmp_path)
    assert log.runs == ["."] and sorted({row.tag for row in log.scalars()} - {"epoch"}) == tags
    assert tbq.open(tmp_path, source="csv").runs == ["."]
    (tmp_path / "eval.csv").write_text(text)
    assert tbq.open(tmp_path).runs == ["eval", "log"]
    trackers.keras(tmp_path)
    assert tbq.open(tmp_path, source="csv").runs == ["eval", "log"]


def test_an_export_beside_the_log_is_not_a_run(tmp_path: Path) -> None:
    for name in ("1", "2"):  # so the columns of runs have numbers
        with tbq.SummaryWriter(tmp_path / name) as writer:
            writer.add_hparams({"epoch": 3, "seed": 1}, {"hp/loss": 0.5}, run_name=".")
            writer.log({"loss": 1.0, "val/acc": 0.5, "7": 1.0}, step=0)
    log = tbq.open(tmp_path)
    tables = {
        "long": log.scalars(), "wide": log.scalars().wide(), "tags": log.tags(), "summary": log.summary(),
        "reduce": log.reduce(by="re:.*()"), "hparams": log.hparams().wide(),
        "compare": log.compare("1", "2"), "runs": log.sql("select * from runs"),
    }  # fmt: skip
    for name, table in tables.items():
        table.write(tmp_path / f"{name}.csv")
    log.scalars(run="1", tag="loss").wide().write(tmp_path / "curve.csv")
    assert tbq.open(tmp_path).runs == ["1", "2"]


@pytest.mark.parametrize(("writer", "tag"), [("lightning", "loss"), ("csv", "train_loss")])
def test_event_files_come_first(writer: str, tag: str, tmp_path: Path) -> None:
    path = ALL[writer][0](tmp_path)
    with tbq.SummaryWriter(path.parent) as events:
        events.add_scalar("loss", 0.5, 1)
    with pytest.warns(tbq.errors.TbqWarning, match=rf"{path.name}: is not read: it has the same numbers"):
        log = tbq.open(tmp_path)
    assert log.runs == list(ALL[writer][1]) and len(log.scalars()) == 1
    assert len(tbq.open(tmp_path, source=writer).scalars(tag=tag)) == len(STEPS)
    assert "TBQ307" in [each.code for each in tbq.doctor(tmp_path)]
    assert "TBQ307" not in [each.code for each in tbq.doctor(tmp_path, source="events")]


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_values_of_wandb(tmp_path: Path) -> None:
    values = {
        ("loss",): "NaN", ("up",): '"Infinity"', ("train", "deep"): "1.5", ("flag",): "true", ("big",): str(2**60 + 1),
        ("text",): '"hello"', ("none",): "null", ("list",): "[1, 2]", ("tiny",): "5e-324", ("huge",): "1e999",
        ("wraps",): "92233720368547758080", ("least",): str(-(2**63)),
        ("hist", "_type"): '"histogram"', ("hist", "bins"): "[0, 1, 2]", ("hist", "values"): "[3, 4]",
        ("img", "_type"): '"image-file"', ("img", "path"): '"../secret.png"', ("img", "width"): "4",
        ("img", "height"): "4", ("half",): "0.1", ("precise",): "0.12345678901234567890123",
    }  # fmt: skip
    path = tmp_path / "run" / "run-x.wandb"
    path.parent.mkdir()
    (tmp_path / "run" / "files").mkdir()
    (tmp_path / "run" / "secret.png").write_bytes(b"\x89PNG")
    config = {"nested": {"a": 1}, "list": [1], "_wandb": {"x": 1}, "flag": True}
    path.write_bytes(wandb_file([run_record(config), history(values, -7)]))
    log = tbq.open(tmp_path)
    got = {row.tag: row.value for row in log.scalars(on_error="ignore")}
    assert repr(got.pop("loss")) == "nan"
    assert got == {
        "wraps": 92233720368547758080.0, "least": -(2.0**63), "up": float("inf"), "train/deep": 1.5,
        "flag": 1.0, "big": float(2**60), "tiny": 5e-324, "half": 0.1,
        "precise": 0.12345678901234568,
    }  # fmt: skip
    assert {row.step for row in log.scalars(on_error="ignore")} == {-7}
    assert [(row.tag, row.text) for row in log.texts()] == [("text", "hello")]
    assert len(log.images()) == 0  # its path leads out of the folder
    (hist,) = log.histograms()
    assert list(hist.count) == [3.0, 4.0] and list(hist.right) == [1.0, 2.0]
    assert {row.name for row in log.hparams()} == {"nested/a", "list", "flag"}


def test_damage_in_wandb_files(tmp_path: Path) -> None:
    records = [history({("loss",): repr(float(i))}, i) for i in range(3000)]
    data = bytearray(wandb_file(records))
    path = tmp_path / "run" / "run-x.wandb"
    path.parent.mkdir()
    data[40_000] ^= 1
    data[100_000:100_200] = bytes(200)
    path.write_bytes(data[:-5])
    os.utime(path, (T0, T0))
    log = tbq.open(tmp_path)
    with pytest.warns(tbq.errors.TbqWarning, match="run-x.wandb"):
        steps = log.series("loss").steps.tolist()
    assert len(steps) > 2980 and steps == sorted(set(steps)) and steps[-1] == 2998
    assert {each.code for each in log.problems} <= {"bad_payload", "bad_length", "torn", "truncated"}
    assert any(each.code == "truncated" and each.severity == "error" for each in log.problems)
    assert "TBQ111" in [each.code for each in tbq.doctor(tmp_path)]
    with pytest.raises(tbq.errors.DamageError):
        tbq.rewrite(tmp_path, tmp_path.parent / f"{tmp_path.name}-new")
    with pytest.raises(tbq.errors.DamageError):
        tbq.open(tmp_path).scalars(on_error="raise")


def test_a_log_that_is_written_anew(tmp_path: Path) -> None:
    """Lightning rewrites its file when a metric is new."""
    path = trackers.lightning(tmp_path)
    with tbq.follow(tmp_path) as follower:
        follower.poll()
        path.write_text("acc,epoch,loss,step\n,0,1.0,0\n0.5,0,0.5,10\n")
        update = follower.poll()
        assert len(update.retracted_rows) > 0
        assert same(follower.table("scalars"), tbq.open(tmp_path).scalars())
        shutil.rmtree(path.parent)
        follower.poll()
        assert follower.runs == []


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_cells_that_are_no_numbers_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text('step,loss,phase\n0,1.0,\n1,abc,\n2,,\n3,nan,\n4,"1,5",\n5,1_000,train\n')
    log = tbq.open(tmp_path)
    assert repr([(row.step, row.value) for row in log.scalars()]) == "[(0, 1.0), (3, nan)]"
    messages = [each.message for each in log.problems]
    assert messages == [
        "left out, because no cell is a number: 'phase'",
        "3 cells of column 'loss' left out: not a number ('abc')",
    ]
    with path.open("a") as file:
        file.write("6,x,\n7,2.0,\n")
    with tbq.follow(tmp_path) as follower:
        follower.poll()
        with path.open("a") as file:
            file.write("8,y,\n")
        follower.poll()
        assert [row.step for row in follower.table("scalars")] == [0, 3, 7]
    assert "5 cells of column 'loss'" in tbq.open(tmp_path).problems[-1].message


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_a_table_with_texts(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text('step,loss,time,tokens\n0,0.5,2024-01-01 10:00:00,"1,000"\n')
    log = tbq.open(tmp_path)
    assert [(row.tag, row.value) for row in log.scalars()] == [("loss", 0.5)]
    assert [each.message for each in log.problems] == [
        "left out, because no cell is a number: 'time', 'tokens'"
    ]


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_cells_that_columns_do_not_agree_on(tmp_path: Path) -> None:
    """A cell means the same whatever its column holds. A blank time is NaN. A stray quote hides few rows."""
    rows = ["0,5,0x10", f"1,,{10**400}", '2,7,"0.5"', '3,8,"stray', *("4,9,0.25" for _ in range(600))]
    (tmp_path / "metrics.csv").write_text("\n".join(["step,timestamp,loss", *rows, ""]))
    log = tbq.open(tmp_path)
    got = [(row.step, repr(row.wall_time), row.value) for row in log.scalars()]
    assert got[:2] == [(1, "nan", math.inf), (2, "7.0", 0.5)] and got[2:] == [(4, "9.0", 0.25)] * 600
    assert [each.message for each in log.problems] == [
        "2 cells of column 'loss' left out: not a number ('0x10')"
    ]


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_a_last_line_without_newline(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("step,loss\n0,1.0\n1,2.0")
    assert len(tbq.open(tmp_path).scalars()) == 1  # it may still be written
    os.utime(path, (T0, T0))
    log = tbq.open(tmp_path)
    assert [row.value for row in log.scalars()] == [1.0, 2.0] and not log.problems
    path.write_text("step,loss\n0,1.0\n1")
    os.utime(path, (T0, T0))
    log = tbq.open(tmp_path)
    assert len(log.scalars()) == 1
    assert [each.message for each in log.problems] == ["ends in an unfinished record: 1 byte lost"]


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_lines_that_do_not_fit_are_counted_while_the_file_grows(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("step,loss\n0,1.0\n1\n")
    log = tbq.open(tmp_path)
    for added, message in (("", "1 line left out"), ("2,2.0,3\n3,1,1\n", "3 lines left out")):
        with path.open("a") as file:
            file.write(added)
        assert len(log.scalars()) == 1
        assert log.problems[-1].message == f"{message}: not as many cells as the header"


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_texts_in_json_lines(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(
        '{"step": 0, "split": "train", "loss": 1}\n{"step": 1, "split": "val", "loss": "1,000", "acc": 1}\n'
        '{"step": 2, "loss": "NaN"}\n'
    )
    log = tbq.open(tmp_path)
    assert repr([row.value for row in log.scalars(tag="loss")]) == "[1.0, nan]"
    assert [(row.tag, row.step, row.text) for row in log.texts()] == [
        ("split", 0, "train"),
        ("split", 1, "val"),
    ]
    assert [each.message for each in log.problems] == ["1 value of 'loss' left out: not a number ('1,000')"]


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_lines_that_do_not_hide_a_log(tmp_path: Path) -> None:
    """A job that was killed within a line, and resumed from an earlier step."""
    path = tmp_path / "log.jsonl"
    with tbq.follow(tmp_path) as follower:
        for line in ('{"step": 0, "x": 1}', '{"step": 1, "x": 2}', '{"step": 2, "x"', '{"event": "resumed"}',
                     '{"step": 1, "x": 4}', '{"step": 2, "x": 5}'):  # fmt: skip
            with path.open("a") as file:
                file.write(f"{line}\n")
            follower.poll()
            log = tbq.open(tmp_path)
            assert same(follower.table("scalars"), log.scalars())
    assert [(row.step, row.value) for row in log.scalars()] == [(0, 1.0), (1, 2.0), (1, 4.0), (2, 5.0)]
    (problem,) = [each for each in log.problems if each.code == "bad_rows"]
    assert problem.message.startswith("line 3 is not JSON")


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_a_table_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_bytes(b"step,loss\n0,1\n1,2,\xff\n2,3\n3,\xff\n")
    log = tbq.open(tmp_path)
    assert [row.value for row in log.scalars()] == [1.0, 3.0] and len(log.problems) == 2


def test_hyperparameters_that_change(tmp_path: Path) -> None:
    """Each change is one row, however often the configuration is written."""
    path = tmp_path / "run" / "run-x.wandb"
    path.parent.mkdir()
    updates = [trackers.field(5, trackers.field(1, trackers.item("lr", str(lr)))) for lr in (1, 1, 2)]
    path.write_bytes(wandb_file([run_record({"lr": 1, "seed": 7}), *updates]))
    log = tbq.open(tmp_path)
    assert [(row.name, row.number) for row in log.hparams()] == [("lr", 1.0), ("seed", 7.0), ("lr", 2.0)]
    assert next(iter(log.hparams().wide())).lr == 2.0


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_a_database_whose_runs_change(tmp_path: Path) -> None:
    """Parameters that come late, a tag with another value, and a run that is resumed after its end."""
    path = trackers.mlflow(tmp_path / "mlflow.db")
    changes = [
        "insert into params values ('batch', '32', 'b2')",
        "insert into tags values ('note', 'old', 'b2')",
        "update tags set value = 'new' where key = 'note'",
        "update runs set status = 'RUNNING', end_time = null where run_uuid = 'a1'",
        "insert into metrics values ('loss', 0.5, 1700000100000, 'a1', 40, 0)",
        "update runs set status = 'FAILED', end_time = 1700000200000 where run_uuid = 'a1'",
    ]
    with tbq.follow(tmp_path) as follower:
        for change in changes:
            follower.poll()
            with sqlite3.connect(path) as db:
                db.execute(change)
            db.close()
            follower.poll()
            log = tbq.open(tmp_path)
            for kind in ("scalars", "hparams", "texts"):
                assert same(follower.table(kind), getattr(log, kind)()), (change, kind)
    states = {row.run: row.state for row in log.sql("select run, state from runs")}
    assert states["exp/top"] == "crashed"


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_an_export_of_neptune(tmp_path: Path) -> None:
    """Runs that share row groups, steps that are not whole, and cells without a value."""
    from datetime import UTC, datetime
    from decimal import Decimal

    import pyarrow as pa
    from pyarrow import parquet

    path = trackers.neptune(tmp_path)
    schema = parquet.read_schema(path)
    when = datetime.fromtimestamp(T0, UTC)
    rows = [
        {
            "run_id": run,
            "attribute_path": tag,
            "attribute_type": kind,
            "step": step,
            "timestamp": time,
            **value,
        }
        for run in ("A", "B")
        for tag, kind, step, time, value in (
            ("/loss", "float_series", Decimal("1.5"), when, {"float_value": 0.25}),
            ("note", "string_series", Decimal(2), when, {"string_value": "hello"}),
            ("acc", "float_series", Decimal(10**11), None, {"float_value": None}),
            ("layers", "int", None, None, {"int_value": 3}),
            (None, "float_series", Decimal(1), when, {"float_value": 1.0}),
        )
    ]
    parquet.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=3)
    log = tbq.open(tmp_path)
    assert log.runs == ["neptune/A", "neptune/B"]
    for run in log.runs:
        assert [repr(tuple(row)[1:]) for row in log.scalars(run=run)] == [
            f"('acc', {10**11}, nan, nan)", f"('loss', 1, {T0}, 0.25)"
        ]  # fmt: skip
        assert [(row.tag, row.step, row.text) for row in log.texts(run=run)] == [("note", 2, "hello")]
        assert [(row.name, row.number) for row in log.hparams(run=run)] == [("layers", 3.0)]
    assert {each.message for each in log.problems} == {"1 step rounded down to a whole number"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which files are open")
def test_a_log_that_is_open_for_writing_is_not_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    with path.open("w") as file:
        file.write("step,loss\n0,1.0\n1,2")
        file.flush()
        os.utime(path, (T0, T0))
        log = tbq.open(tmp_path)
        assert len(log.scalars()) == 1
        assert [each.severity for each in log.problems] == ["info"]
