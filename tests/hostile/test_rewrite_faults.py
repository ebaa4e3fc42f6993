"""A rewrite that is killed, or whose disk fills up: the source is untouched, and nothing looks finished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import preload
import protolog as pl
import pytest
from waiting import wait_for

import tbq
from tbq.errors import OutputError
from tbq.source import is_event_file

_REWRITE = """
import os, sys, tbq
source, target, what = sys.argv[1:]
if what == "limit":
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))

def progress(done, total, files, all_files):
    if what == "kill":
        os.kill(os.getpid(), 9)
    if what == "stop":
        raise KeyboardInterrupt

tbq.rewrite(source, target, progress=progress)
"""


def _large(root: Path) -> dict[Path, bytes]:
    """Two runs, the second of 20 MB."""
    files = [
        pl.healthy(root / "a"),
        pl.write(root / "b", pl.header(), *[pl.image("x", 1, bytes(4 << 20))] * 5),
    ]
    return {path: path.read_bytes() for path in files}


def _run(root: Path, what: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _REWRITE, str(root / "runs"), str(root / "new"), what],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _event_files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and is_event_file(path.name)]


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_kill_9_leaves_nothing_that_looks_finished(tmp_path: Path) -> None:
    before = _large(tmp_path / "runs")
    done = _run(tmp_path, "kill")
    assert done.returncode == -9
    assert not (tmp_path / "new").exists()
    assert {path: path.read_bytes() for path in _event_files(tmp_path)} == before
    # Its leftovers are recognisable, and do not block another rewrite.
    (left,) = [path for path in tmp_path.iterdir() if path.name != "runs"]
    assert left.name.startswith(".new.") and left.name.endswith(".tmp")
    tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert len(_event_files(tmp_path / "new")) == 2
    assert not left.exists()


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    before = _large(tmp_path / "runs")
    done = _run(tmp_path, "stop")
    assert done.returncode != 0 and "KeyboardInterrupt" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert {path: path.read_bytes() for path in _event_files(tmp_path)} == before


@pytest.mark.skipif(sys.platform != "linux", reason="libraries are preloaded in this way on Linux")
def test_ctrl_c_ends_the_command_while_the_core_copies(tmp_path: Path) -> None:
    path = pl.write(tmp_path / "runs", pl.header(), *[pl.image("x", 1, bytes(4 << 20))] * 16)
    before = path.read_bytes()
    library = preload.library("failing_disk", tmp_path)
    slow = {
        "LD_PRELOAD": str(library),
        "FAILING_FILE": str(path),
        "FAILING_SLOWLY": "200",  # milliseconds per read: almost a minute in all
    }
    command = [sys.executable, "-m", "tbq", "rewrite", str(tmp_path / "runs"), "-o", str(tmp_path / "new")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **slow}) as process:
        try:
            wait_for(lambda: any(path.stat().st_size for path in tmp_path.glob(".new.*/*/*.part")))
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=120)[1].strip() == "tbq: interrupted"
        finally:
            process.kill()
    assert process.returncode == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == [library.name, "runs"]
    assert path.read_bytes() == before


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of file sizes")
def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    before = _large(tmp_path / "runs")
    done = _run(tmp_path, "limit")
    assert "OutputError" in done.stderr and "cannot be written: file too large" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert {path: path.read_bytes() for path in _event_files(tmp_path)} == before


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    import errno

    from tbq.rewriting.target import scratch

    with (
        pytest.raises(OutputError, match="no space left on device") as refused,
        scratch(tmp_path / "new") as made,
    ):
        made.file("a/b", pl.name()).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "as the system says it")
    assert "free some space" in str(refused.value) and "no partial output is left" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    pl.write(tmp_path / "runs", pl.header(), *[pl.image("x", 1, bytes(4 << 20))] * 3)

    def progress(*_: int) -> None:
        (tmp_path / "new").mkdir(exist_ok=True)

    with pytest.raises(OutputError, match="another process has created it"):
        tbq.rewrite(tmp_path / "runs", tmp_path / "new", progress=progress)
    assert list((tmp_path / "new").iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "runs"]


def test_a_source_that_shrinks_meanwhile(tmp_path: Path) -> None:
    path = pl.write(tmp_path / "runs", pl.header(), *[pl.image("x", 1, bytes(4 << 20))] * 6)

    def progress(*_: int) -> None:
        os.truncate(path, 12 << 20)

    with pytest.raises(tbq.TbqError):
        tbq.rewrite(tmp_path / "runs", tmp_path / "new", progress=progress)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_source_that_grows_meanwhile_is_a_snapshot(tmp_path: Path) -> None:
    records = [pl.header(), *[pl.image("x", 1, bytes(4 << 20))] * 4]
    path = pl.write(tmp_path / "runs", *records)

    def progress(*_: int) -> None:
        with path.open("ab") as file:
            file.write(pl.scalar("loss", 1, 0.5))

    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", progress=progress)
    assert report.records_out == len(records)
    assert (tmp_path / "new" / path.name).read_bytes() == b"".join(records)
