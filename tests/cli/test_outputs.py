"""Where output goes: standard output by any of its names, pipes, devices; and values in a pipe that CSV cannot hold."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import eventfile as ef
import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has neither /dev nor FIFOs")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    events = [ef.version(), ef.image("pic", 0, b"\x89PNG\r\n\x1a\n"), ef.scalar("loss", 1, 0.5)]
    (root / "events.out.tfevents.1").write_bytes(ef.event_file(events))
    return root


@posix
@pytest.mark.parametrize("target", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_by_any_name(tbq: Run, logdir: Path, target: str) -> None:
    done = tbq("export", logdir, "--run", "exp2", "--tag", "val/acc", "-o", target)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["step"] for row in rows] == ["0", "10", "20", "30", "40"]
    done = tbq("export", logdir, "--run", "exp2", "--tag", "val/acc", "-o", target, "--format", "jsonl")
    assert done.returncode == 0 and done.stdout.count("\n") == 5


@posix
def test_dev_stdout_of_a_file(logdir: Path, tmp_path: Path) -> None:
    with open(tmp_path / "out.csv", "wb") as file:
        subprocess.run(
            [sys.executable, "-m", "tbq", "export", logdir, "--tag", "val/acc", "-o", "/dev/stdout"],
            stdout=file, check=True, timeout=120,
        )  # fmt: skip
    assert (
        (tmp_path / "out.csv").read_text().startswith("run,tag,step,wall_time,value\nexp1/train,val/acc,0,")
    )


@posix
@pytest.mark.parametrize("name", ["pipe", "pipe.csv", "pipe.parquet"])
def test_fifos(tbq: Run, logdir: Path, tmp_path: Path, name: str) -> None:
    fifo = tmp_path / name
    os.mkfifo(fifo)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    done = tbq("export", logdir, "--tag", "val/acc", "-o", fifo)
    reader.join(30)
    assert done.returncode == 0, done.stderr
    assert got[0].startswith(b"PAR1" if name.endswith("parquet") else b"run,tag,step")
    assert fifo.is_fifo()


@posix
def test_devices(tbq: Run, logdir: Path) -> None:
    done = tbq("export", logdir, "-o", "/dev/null")
    assert done.returncode == 0 and not done.stdout
    done = tbq("export", logdir, "-o", "/dev/full")
    assert done.returncode == 1 and "no space left" in done.stderr
    done = tbq("export", logdir, "--kind", "all", "-o", "/dev/stdout")
    assert done.returncode == 2 and not done.stdout and "a csv file holds one table" in done.stderr


def test_a_pipe_gets_what_csv_holds(tbq: Run, pictures: Path) -> None:
    done = tbq("export", pictures, "--kind", "images")
    assert done.returncode == 0
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0]["tag"] == "pic" and "data" not in rows[0]
    assert "images.data is left out" in done.stderr
    done = tbq("summary", pictures, "--media")
    assert done.returncode == 0 and "summary.pic is left out" in done.stderr


@pytest.mark.parametrize(
    "options", [["--format", "csv"], ["--format", "json"], ["-o", "out.csv"], ["-o", "out.jsonl"]]
)
def test_what_is_asked_for_and_cannot_be_fails_before_anything_is_printed(
    tbq: Run, pictures: Path, tmp_path: Path, options: list[str]
) -> None:
    done = tbq("export", pictures, "--kind", "images", *options, cwd=tmp_path)
    assert done.returncode == 1 and not done.stdout
    assert "bytes of column 'data'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_urls_that_cannot_be_used_are_refused(tbq: Run, logdir: Path, tmp_path: Path) -> None:
    for command in (
        ["export", logdir, "-o", "hdfs://host/out.csv"],
        ["export", "hdfs://host/logs"],
        ["ls", "hdfs://host/logs"],
        ["media", logdir, "-o", "s3://bucket/x"],
        ["rewrite", logdir, "-o", "s3://bucket/x"],
        ["reduce", logdir, "-o", "s3://bucket/x", "--as-events"],
    ):
        done = tbq(*command, cwd=tmp_path)
        words = (
            "must be a local path, not a URL" if "s3://bucket/x" in command else "hdfs:// is not supported"
        )
        assert done.returncode == 1 and words in done.stderr, command
    assert list(tmp_path.iterdir()) == []


def test_relative_times_do_not_move(tbq: Run, tmp_path: Path) -> None:
    events = [
        ef.version(),
        ef.scalar("loss", 1, 0.5, ef.WALL + 0.01),
        ef.scalar("val", 1, 0.5, ef.WALL + 0.41),
    ]
    (tmp_path / "events.out.tfevents.1").write_bytes(ef.event_file(events))
    for command in (
        ["export", tmp_path, "--time", "relative"],
        ["export", tmp_path, "--time", "relative", "--tag", "val"],
        ["sql", tmp_path, "select run, tag, wall_time from scalars where tag = 'val'", "--time", "relative"],
        ["sql", tmp_path, "select tag, relative_time as wall_time from scalars where tag = 'val'"],
    ):
        rows = {row["tag"]: row for row in csv.DictReader(io.StringIO(tbq(*command).stdout))}
        assert float(rows["val"]["wall_time"]) == pytest.approx(0.41, abs=1e-6), command
