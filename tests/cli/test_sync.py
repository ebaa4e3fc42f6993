"""`tbq sync` as a command: its messages, exit codes, and `--watch` until it is stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import eventfile as ef
import pytest
from lakes import assert_same
from started import tbq as run

import tbq


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tbq.demo(tmp_path_factory.mktemp("sync") / "runs")


@pytest.mark.long
def test_what_it_says(runs: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    first = run("sync", runs, lake)
    assert (first.returncode, first.stdout) == (0, "")
    again = run("sync", runs, lake)
    assert (again.returncode, again.stderr) == (0, ""), "nobody is at a terminal"
    assert_same(lake, runs)
    asked = run("export", lake, "--tag", "val/loss", "--format", "json")
    assert asked.returncode == 0 and len(json.loads(asked.stdout)) == 80


def test_wrong_usage(runs: Path, tmp_path: Path) -> None:
    one = run("sync", runs)
    assert one.returncode == 2 and "want LOGDIR and LAKE" in one.stderr
    own = run("sync", runs, runs)
    assert own.returncode == 2 and "cannot be its own lake" in own.stderr
    absent = run("sync", tmp_path / "absent", tmp_path / "lake")
    assert absent.returncode == 1 and not (tmp_path / "lake").exists()


@pytest.mark.parametrize("selection", [("--tag", "val/lsos"), ("--run", "nobody")])
def test_a_selection_that_matches_nothing_says_so(
    runs: Path, tmp_path: Path, selection: tuple[str, str]
) -> None:
    for _ in range(2):
        done = run("sync", runs, tmp_path / "lake", *selection)
        assert done.returncode == 0, "what it waits for may come"
        assert "lake: no rows: nothing matches these runs, tags and kinds so far" in done.stderr
    some = run("sync", runs, tmp_path / "other", "--tag", "val/loss")
    assert (some.returncode, some.stderr) == (0, "")


def test_watching(tmp_path: Path) -> None:
    path = tmp_path / "log" / "events.out.tfevents.1.h"
    path.parent.mkdir()
    path.write_bytes(ef.record(ef.version(99.0)) + ef.record(ef.scalar("loss", 0, 0.5, 100.0)))
    command = [sys.executable, "-m", "tbq", "sync", str(path.parent), str(tmp_path / "lake"), "--watch"]
    command += ["--interval", "0.1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "1 run new; 1 row written" in process.stderr.readline()
        for step in range(1, 4):
            with path.open("ab") as file:
                file.write(ef.record(ef.scalar("loss", step, 0.5, 100.0 + step)))
            assert "1 run grown; 1 row written" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)
        assert process.returncode == 130
    assert_same(tmp_path / "lake", path.parent)
