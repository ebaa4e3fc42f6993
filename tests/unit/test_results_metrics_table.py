"""MetricsTable: rows that survive a crash, columns that appear later, files that are continued or refused."""

import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import tbq
from tbq.errors import OutputError, TbqWarning, UsageError
from tbq.results import MetricsTable, metrics

SOURCE = str(Path(tbq.__file__).resolve().parent.parent)


def parquet(path):
    with pq.ParquetFile(path) as file:
        return file.read().to_pylist()


def test_csv_row_by_row_with_columns_that_appear_later(tmp_path):
    path = tmp_path / "m.csv"
    with MetricsTable(path) as table:
        table.log(0, loss=np.float32(0.1))
        assert path.read_text() == "epoch,loss\n0,0.1\n"
        table.log(1, loss=math.nan, note="a,b")
        assert path.read_text() == 'epoch,loss,note\n0,0.1,\n1,nan,"a,b"\n'
        table.log(2, note=None)
        table.log(loss=1 / 3)
    assert path.read_text().splitlines()[3:] == ["2,,", ",0.3333333333333333,"]
    assert [p.name for p in tmp_path.iterdir()] == ["m.csv"]


def test_tsv(tmp_path):
    MetricsTable(tmp_path / "m.tsv").log(0, loss=1.0)
    assert (tmp_path / "m.tsv").read_text() == "epoch\tloss\n0\t1.0\n"


def test_parquet_is_whole_after_close_and_leaves_no_journal(tmp_path):
    path = tmp_path / "m.parquet"
    with MetricsTable(path) as table:
        table.log(0, loss=1)
        assert parquet(path) == [{"epoch": 0, "loss": 1}]
        for epoch in range(1, 50):
            table.log(epoch, loss=0.5, val=epoch % 2 == 0)
    rows = parquet(path)
    assert len(rows) == 50 and rows[0] == {"epoch": 0, "loss": 1.0, "val": None} and rows[49]["val"] is False
    assert [p.name for p in tmp_path.iterdir()] == ["m.parquet"]
    table.log(50, loss=0.25)  # after close
    table.close()
    assert len(parquet(path)) == 51


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_existing_file_is_refused_or_continued(tmp_path, ending):
    path = tmp_path / f"m.{ending}"
    with MetricsTable(path) as table:
        table.log(0, loss=0.5)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="resume=True"):
        MetricsTable(path)
    assert path.read_bytes() == before
    with MetricsTable(path, resume=True) as table:
        table.log(1, loss=0.25, acc=0.75)
    got = metrics(path).wide().to_arrow().to_pylist()
    assert [(r["step"], r["loss"], r["acc"]) for r in got] == [(0, 0.5, None), (1, 0.25, 0.75)]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_resume_starts_where_there_is_nothing(tmp_path, ending):
    with MetricsTable(tmp_path / f"m.{ending}", resume=True) as table:
        table.log(0, loss=0.5)
    assert len(metrics(tmp_path / f"m.{ending}")) == 1


def test_an_unfinished_last_row_is_dropped_with_a_warning(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("epoch,loss\n0,0.5\n1,0.2")
    with pytest.warns(TbqWarning, match=r"dropping its unfinished last row: '1,0\.2'"):
        table = MetricsTable(path, resume=True)
    table.log(1, loss=0.25)
    assert path.read_text() == "epoch,loss\n0,0.5\n1,0.25\n"


def test_a_crash_between_the_file_and_its_journal_counts_no_row_twice(tmp_path):
    path = tmp_path / "m.parquet"
    with MetricsTable(path) as table:
        table.log(0, loss=0.5)
        table.log(1, loss=0.25)
    (tmp_path / "m.parquet.journal").write_text(
        '[1, {"epoch": 1, "loss": 0.25}]\n[2, {"epoch": 2, "loss": 0.1}]\n[3, {"ep'
    )
    assert [r["step"] for r in metrics(path).to_arrow().to_pylist()] == [0, 1, 2]
    with MetricsTable(path, resume=True) as table:
        table.log(3, loss=0.05)
    assert [r["epoch"] for r in parquet(path)] == [0, 1, 2, 3]


def test_a_journal_alone_is_a_table_that_is_there(tmp_path):
    path = tmp_path / "m.parquet"
    (tmp_path / "m.parquet.journal").write_text('[0, {"epoch": 0, "loss": NaN}]\n')
    with pytest.raises(OutputError):
        MetricsTable(path)
    assert math.isnan(metrics(path).to_arrow().column("value")[0].as_py())


_TRAIN = """
    import os, signal, sys
    from tbq.results import MetricsTable
    table = MetricsTable(sys.argv[1])
    for epoch in range(200):
        table.log(epoch, loss=1 / (epoch + 1), **({"late": epoch} if epoch > 20 else {}))
        print(epoch, flush=True)
        if epoch == 37:
            os.kill(os.getpid(), signal.SIGKILL) if hasattr(signal, "SIGKILL") else os._exit(9)
"""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_kill_9_keeps_every_finished_epoch(tmp_path, ending):
    path = tmp_path / f"m.{ending}"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_TRAIN), str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
        check=False,
    )
    assert done.stdout.split()[-1] == "37", done.stderr
    got = metrics(path).wide().to_arrow().to_pylist()
    assert [r["step"] for r in got] == [*range(38)]
    assert [r["loss"] for r in got] == [1 / (n + 1) for n in range(38)]
    assert [r["late"] for r in got][20:23] == [None, 21, 22]
    with MetricsTable(path, resume=True) as table:
        table.log(38, loss=0)
    assert len(metrics(path, run="x").wide()) == 39


@pytest.mark.long
def test_kill_9_at_any_moment_leaves_a_file_that_goes_on(tmp_path):
    """Killed while it writes as fast as it can, with new columns all the time."""
    script = textwrap.dedent("""
        import sys
        from tbq.results import MetricsTable
        table = MetricsTable(sys.argv[1], resume=True)
        n = 0
        while True:
            table.log(n, **{f"m{n // 7}": n, "loss": 0.5})
            print(n, flush=True)
            n += 1
    """)
    for ending in ("csv", "parquet"):
        for lines in (1, 12, 40):
            path = tmp_path / f"{lines}.{ending}"
            with subprocess.Popen(
                [sys.executable, "-c", script, str(path)],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": SOURCE},
            ) as process:
                for _ in range(lines):
                    last = int(process.stdout.readline())
                process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
                rest = process.stdout.read().split()
            last = int(rest[-1]) if rest else last
            steps = [r["step"] for r in metrics(path).wide(["loss"]).to_arrow().to_pylist()]
            assert steps[: last + 1] == [*range(last + 1)] and len(steps) <= last + 2


def test_two_writers_are_told_apart(tmp_path):
    path = tmp_path / "m.csv"
    first = MetricsTable(path)
    first.log(0, loss=1)
    second = MetricsTable(path, resume=True)
    second.log(1, loss=1)
    with pytest.raises(OutputError, match="another program writes to it"):
        first.log(1, loss=2)
    with pytest.raises(OutputError, match="another program writes to it"):
        first.log(1, other=2)
    assert path.read_text() == "epoch,loss\n0,1\n1,1\n"


def test_a_disk_that_is_full_leaves_the_rows_there_were(tmp_path, monkeypatch):
    path = tmp_path / "m.csv"
    table = MetricsTable(path)
    table.log(0, loss=1)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="no space left"):
        table.log(1, acc=1)
    monkeypatch.undo()
    table.log(1, loss=2)
    assert path.read_text() == "epoch,loss\n0,1\n1,2\n"
    assert [p.name for p in tmp_path.iterdir()] == ["m.csv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [(b"a,b\n1,2,3\n", "row 2 is longer"), (b"a,a\n", "occurs twice"), (b"\xff\xff\n", "not a CSV")],
)
def test_a_file_that_is_no_table_of_metrics_is_not_continued(tmp_path, text, message):
    (tmp_path / "m.csv").write_bytes(text)
    with pytest.raises(OutputError, match=message):
        MetricsTable(tmp_path / "m.csv", resume=True)
    assert (tmp_path / "m.csv").read_bytes() == text


def test_a_table_is_a_local_file():
    with pytest.raises(OutputError, match="must be a local path, not a URL"):
        MetricsTable("s3://bucket/a.csv")


def test_what_is_not_a_metric(tmp_path):
    table = MetricsTable(tmp_path / "m.csv")
    with pytest.raises(UsageError, match=r"'loss' has shape \(2,\)"):
        table.log(0, loss=np.zeros(2))
    with pytest.raises(UsageError, match="'loss' is a list"):
        table.log(0, loss=[1])
    with pytest.raises(UsageError, match="no metric"):
        table.log()
    with pytest.raises(UsageError, match=r"\.csv, \.tsv or \.parquet"):
        MetricsTable(tmp_path / "m.xlsx")
    with pytest.raises(OutputError):
        MetricsTable(tmp_path / "none" / "m.csv")
    with pytest.raises(AttributeError):
        _ = table.nothing


def test_mixed_types_in_a_parquet_column(tmp_path):
    with MetricsTable(tmp_path / "m.parquet") as table:
        table.log(0, a=1, b=True, c=2**70, d="x")
        table.log(1, a=0.5, b=3, c=1, d=2.5)
    got = parquet(tmp_path / "m.parquet")
    assert got == [
        {"epoch": 0, "a": 1.0, "b": 1, "c": 2.0**70, "d": "x"},
        {"epoch": 1, "a": 0.5, "b": 3, "c": 1.0, "d": "2.5"},
    ]


def test_it_answers_what_keras_calls(tmp_path):
    table = MetricsTable(tmp_path / "m.csv", sync=True)
    table.set_params({})
    table.set_model(object())
    table.on_train_begin()
    table.on_epoch_begin(0)
    table.on_train_batch_end(0, logs={"loss": 3})
    table.on_epoch_end(0, {"loss": 0.5, "val_loss": 0.6})
    table.on_train_end()
    assert (tmp_path / "m.csv").read_text() == "epoch,loss,val_loss\n0,0.5,0.6\n"


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_a_metric_called_epoch_does_not_replace_the_number_of_the_row(tmp_path, ending):
    table = MetricsTable(tmp_path / f"m.{ending}")
    with pytest.raises(UsageError, match=r"two epochs: log\(100, epoch=0\.1\)") as error:
        table.log(100, loss=0.5, epoch=0.1)
    assert "log(step=100, epoch=0.1" in str(error.value)
    table.log(step=100, loss=0.5, epoch=0.1)
    table.log(step=200, loss=0.25, epoch=np.float64(0.2))
    table.close()
    read = metrics(table.path).to_arrow().to_pylist()
    assert [(row["tag"], row["step"], row["value"]) for row in read] == [
        ("epoch", 100, 0.1), ("epoch", 200, 0.2), ("loss", 100, 0.5), ("loss", 200, 0.25),
    ]  # fmt: skip
    same = MetricsTable(tmp_path / f"same.{ending}")
    same.log(3, loss=0.5, epoch=3)
    same.close()
    assert metrics(same.path).to_arrow().column("step").to_pylist() == [3]
    keras = MetricsTable(tmp_path / f"keras.{ending}")
    for epoch in range(2):
        keras.on_epoch_end(epoch, {"epoch": epoch + 0.5})
    keras.close()
    read = metrics(keras.path).to_arrow().to_pylist()
    assert [(row["tag"], row["step"], row["value"]) for row in read] == [("epoch", 0, 0.5), ("epoch", 1, 1.5)]


def test_integers_that_parquet_rounds_are_reported_once_and_csv_keeps_them(tmp_path):
    large = 2**53 + 1
    table = MetricsTable(tmp_path / "m.parquet")
    table.log(0, tokens=large)
    assert parquet(table.path)[0]["tokens"] == large
    with pytest.warns(TbqWarning, match=f"'tokens' is stored as float64, which rounds {large}"):
        table.log(1, tokens=0.5)
        table.close()
    exact = MetricsTable(tmp_path / "m.csv")
    exact.log(0, tokens=large)
    assert str(large) in Path(exact.path).read_text()
    with pytest.raises(UsageError, match="1025 bits"):
        exact.log(1, tokens=2**1024)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("name", ["\r", "a\rb", "a\r\nb", "\ud800", "\ufeffx", "", "\x00", "a\tb", "a,b;c"])
def test_odd_names_and_texts_survive(tmp_path, ending, name):
    """They neither end a line nor a training."""
    for other in {"loss", "b", ""} - {name}:
        path = tmp_path / f"a{other}.{ending}"
        with MetricsTable(path) as table:
            table.log(1, **{name: 0.5})
            table.log(2, **{other: 1.5, name: 2.5, "note": name})
        with MetricsTable(path, resume=True) as table:
            table.log(3, **{name: 3.5, "note": "x"})
        shown = name.replace("\ud800", "\\ud800")
        rows = metrics(path).to_arrow().to_pylist()
        assert {(row["tag"], row["step"], row["value"]) for row in rows} == {
            (shown, 1, 0.5), (shown, 2, 2.5), (shown, 3, 3.5), (other, 2, 1.5),
        }  # fmt: skip
