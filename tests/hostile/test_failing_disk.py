"""A disk that fails while a file is read: the system's own error, produced by a preloaded library."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import preload
import protolog as pl
import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="libraries are preloaded in this way on Linux"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return preload.library("failing_disk", tmp_path_factory.mktemp("library"))


def run(library: Path, path: Path, bad: int, *args: Any) -> subprocess.CompletedProcess[str]:
    """`tbq` while reads of `path` fail from byte `bad` on."""
    failing = {"LD_PRELOAD": str(library), "FAILING_FILE": str(path), "FAILING_FROM": str(bad)}
    done = subprocess.run(
        [sys.executable, "-m", "tbq", *map(str, args)],
        capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **failing},
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


def records_of(large: bool) -> list[bytes]:
    rows = [pl.header(), *pl.scalars(["loss", "train/acc"], range(200))]
    if large:
        rows[100:100] = [pl.image("sample", 50, os.urandom(300_000))]
    return rows


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("large", [False, True])
def test_what_can_be_read_is_there_and_the_failure_is_told(
    library: Path, tmp_path: Path, large: bool, threads: int
) -> None:
    rows = records_of(large)
    path = pl.write(tmp_path / "runs", *rows)
    os.utime(path, (pl.T0, pl.T0))
    ends = [sum(map(len, rows[: count + 1])) for count in range(len(rows))]
    for bad in (ends[0] + 5, ends[120], path.stat().st_size - 2):
        whole = sum(end <= bad for end in ends)
        done = run(library, path, bad, "doctor", tmp_path / "runs", "--json", "--threads", threads)
        assert done.returncode == 1 and not done.stderr
        (found,) = json.loads(done.stdout)
        assert (found["code"], found["severity"], found["path"]) == ("TBQ208", "error", str(path))
        assert found["message"].startswith("reading stopped: input/output error")
        assert found["offset"] == ends[whole - 1] and "dmesg" in found["hint"]
        # Data before the failure is read, here as everywhere.
        done = run(library, path, bad, "export", tmp_path / "runs", "--threads", threads)
        scalars = sum(b"sample" not in row for row in rows[1:whole])
        assert done.returncode == 0 and len(list(csv.reader(io.StringIO(done.stdout)))) == 1 + scalars
        assert "reading stopped: input/output error" in done.stderr
    strict = run(library, path, bad, "export", tmp_path / "runs", "--strict")
    assert strict.returncode == 1 and "input/output error" in strict.stderr and not strict.stdout
    assert run(library, path, bad, "rewrite", tmp_path / "runs", "-o", tmp_path / "new").returncode == 1
    assert not (tmp_path / "new").exists()


def test_a_disk_that_fails_at_once(library: Path, tmp_path: Path) -> None:
    path = pl.healthy(tmp_path / "runs")
    pl.healthy(tmp_path / "runs" / "other")
    done = run(library, path, 0, "doctor", tmp_path / "runs", "--json")
    (found,) = json.loads(done.stdout)
    assert (found["code"], found["run"]) == ("TBQ208", ".")
    done = run(library, path, 0, "export", tmp_path / "runs")
    assert done.returncode == 0 and "reading stopped: input/output error" in done.stderr
    assert len(done.stdout.splitlines()) == 101


def test_without_a_failure_the_library_changes_nothing(library: Path, tmp_path: Path) -> None:
    path = pl.healthy(tmp_path / "runs")
    done = run(library, path, 1 << 40, "doctor", tmp_path / "runs")
    assert done.returncode == 0 and "no problems" in done.stdout
