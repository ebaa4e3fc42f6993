"""Signals that interrupt system calls of the core: it repeats the calls, and every answer stays the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import preload
import protolog as pl
import pytest

import tbq

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="libraries are preloaded in this way on Linux"
)

# Reads, rewrites and follows a log, and prints the rows and how often each call was interrupted and repeated.
_READS = """
import ctypes, json, os, sys, tbq
log, new = sys.argv[1:]
rows = [tbq.open(log).scalars(threads=threads).to_dicts() for threads in (1, 2)]
tbq.rewrite(log, new, repair=True)
with tbq.follow(log) as follower:
    follower.poll()
    rows.append(follower.table().to_dicts())
library = ctypes.CDLL(os.environ["LD_PRELOAD"])
names = ("open", "stat", "fstat", "pread", "lseek", "write")
calls = {name: (library.interrupted(i), library.repeated(i)) for i, name in enumerate(names)}
print(json.dumps({"rows": rows, "calls": calls}))
"""

_ENDS = """
import os, signal, sys, time, tbq

def progress(*_):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)  # the signal ends the process

tbq.rewrite(*sys.argv[1:], progress=progress)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return preload.library("interrupted_calls", tmp_path_factory.mktemp("library"))


def run(library: Path, script: str, *args: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, args)],
        capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "LD_PRELOAD": str(library)},
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
def test_interrupted_calls_are_repeated(library: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    before = b"".join([pl.header(), *pl.scalars(["loss"], range(2000))])
    path = pl.write(log / "a", before)
    with path.open("r+b") as file:  # a hole: lseek finds its end
        file.seek(len(before) + (1 << 20))
        file.write(b"".join(pl.scalars(["loss"], range(2000, 3000))))
    pl.healthy(log / "b")
    done = run(library, _READS, log, tmp_path / "new")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    rows = tbq.open(log).scalars().to_dicts()
    assert len(rows) > 3000 and answer["rows"] == json.loads(json.dumps([rows] * 3))
    assert tbq.open(tmp_path / "new").scalars().to_dicts() == rows
    for name, (interrupted, repeated) in answer["calls"].items():
        assert interrupted == repeated > 0, name


def test_a_handler_of_termination_repeats_its_calls(library: Path, tmp_path: Path) -> None:
    pl.write(tmp_path / "log", pl.header(), *[pl.image("x", 1, bytes(4 << 20))] * 3)
    done = run(library, _ENDS, tmp_path / "log", tmp_path / "new")
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
