"""Compressed logs that cannot be unpacked to their end: every command reports the loss, and rewrite refuses."""

from __future__ import annotations

import gzip
import os
import subprocess
import zlib
from pathlib import Path

import protolog as pl
import pytest
import started
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq.errors import DamageError, SourceError, TbqWarning
from tbq.source import inflate

ROWS = 5_000


def packed(folder: Path, pack=gzip.compress, cut: float = 0.5) -> Path:
    """A log of many rows whose compressed file was cut off."""
    data = pack(b"".join([pl.header(), *pl.scalars(["loss"], range(ROWS))]))
    return pl.write(folder, data[: int(len(data) * cut)], file=pl.name() + ".gz")


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return started.tbq(*arguments, env={**os.environ, **environment})


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9999])
def test_a_file_that_is_cut_is_a_problem(tmp_path: Path, pack, cut: float) -> None:
    path = packed(tmp_path / "runs", pack, cut)
    log = tbq.open(tmp_path / "runs")
    with pytest.warns(
        TbqWarning, match=r"is cut off: its first [\d,]+ bytes could be unpacked, the rest is lost"
    ):
        steps = log.scalars().to_arrow()["step"].to_pylist()
    assert steps == list(range(len(steps))) and 0 < len(steps) <= ROWS
    problem = next(each for each in log.problems if each.code == "unpacking")
    assert (problem.severity, problem.path) == ("error", str(path))
    with pytest.raises(DamageError, match="is cut off"):
        log.scalars(on_error="raise")
    with pytest.raises(DamageError, match="is cut off"):
        log.sql("select count(*) from scalars", on_error="raise")
    with pytest.warns(TbqWarning, match="is cut off"):
        tbq.open(tmp_path / "runs").sql("select count(*) from scalars")


@pytest.mark.parametrize(
    "what", [("export", "-o", "out.csv"), ("sql", "select count(*) from scalars"), ("summary",)]
)
def test_commands_say_so_and_strict_fails(tmp_path: Path, what: tuple[str, ...]) -> None:
    packed(tmp_path / "runs")
    name, *rest = what
    rest = [str(tmp_path / word) if word == "out.csv" else word for word in rest]
    done = command(name, tmp_path / "runs", *rest)
    assert done.returncode == 0 and done.stderr.count("is cut off: its first") == 1
    done = command(name, tmp_path / "runs", *rest, "--strict", *(["--force"] if name == "export" else []))
    assert done.returncode == 1 and done.stderr.count("is cut off: its first") == 1


def test_rewrite_refuses_and_repair_reports(tmp_path: Path) -> None:
    path = packed(tmp_path / "runs")
    with pytest.raises(DamageError, match=r"is cut off.*\n.*--repair") as refused:
        tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert refused.value.path == str(path) and refused.value.code == "unpacking"
    assert not (tmp_path / "new").exists()
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", repair=True)
    assert [(each.code, each.path) for each in report.gone] == [("unpacking", str(path))]
    assert "damage skipped: 1 place" in str(report) and "is cut off" in str(report)
    got = tbq.open(tmp_path / "new").scalars().to_arrow()["step"].to_pylist()
    assert got == list(range(len(got))) and 1_000 < len(got) < ROWS
    done = command("rewrite", tmp_path / "runs", "-o", tmp_path / "other")
    assert done.returncode == 1 and "is cut off" in done.stderr
    done = command("rewrite", tmp_path / "runs", "-o", tmp_path / "other", "--repair")
    assert done.returncode == 0 and "is cut off" in done.stdout


@examples(15)
@given(
    rows=st.lists(st.integers(1, 9), min_size=2, max_size=5),
    ways=st.lists(st.sampled_from(["written", "replaced"]), min_size=5, max_size=5),
)
def test_a_file_that_changes_is_unpacked_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[int], ways: list[str]
) -> None:
    """An open log returns the same as a new one, whether a compressed file grew, shrank or was replaced."""
    path = tmp_path_factory.mktemp("log") / (pl.name() + ".gz")
    log = None
    for count, way in zip(rows, ways, strict=False):
        data = gzip.compress(b"".join([pl.header(), *pl.scalars(["loss"], range(count))]))
        if way == "written" or log is None:
            path.write_bytes(data)
        else:
            path.with_name("new").write_bytes(data)
            os.replace(path.with_name("new"), path)
        log = log or tbq.open(path.parent)
        assert len(log.scalars()) == len(tbq.open(path.parent).scalars()) == count
    path.write_bytes(data[:-4])  # what was sound is cut off now, and sound again after that
    with pytest.warns(TbqWarning, match="is cut off"):
        log.scalars()
    path.write_bytes(data)
    assert len(log.scalars(on_error="raise")) == count


@pytest.fixture
def small_disk(tmp_path: Path):
    """A temporary disk of a few kilobytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting needs rights; the test below plays a full disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.long
def test_a_temporary_disk_that_is_too_small(tmp_path: Path, small_disk: Path) -> None:
    packed(tmp_path / "runs", cut=1)
    for name in ("a", "b"):
        pl.healthy(tmp_path / "runs" / name)
    here = {"TMPDIR": str(small_disk)}
    want = "could not be unpacked beyond its first"
    done = command("rewrite", tmp_path / "runs", "-o", tmp_path / "new", **here)
    assert done.returncode == 1 and want in done.stderr and "no space left on device" in done.stderr
    assert "TMPDIR" in done.stderr and not (tmp_path / "new").exists()
    done = command("rewrite", tmp_path / "runs", "-o", tmp_path / "new", "--repair", **here)
    assert done.returncode == 0 and want in done.stdout
    for strict in (False, True):
        for name, query in (("export", ()), ("sql", ("select count(*) from scalars",))):
            done = command(name, tmp_path / "runs", *query, *(["--strict"] if strict else []), **here)
            assert done.returncode == int(strict), done.stderr
            assert done.stderr.count(want) == 1
    assert list(small_disk.iterdir()) == []
    done = command("rewrite", tmp_path / "runs", "-o", tmp_path / "whole")
    assert done.returncode == 0
    assert len(tbq.open(tmp_path / "whole").scalars(run=".")) == ROWS


@pytest.mark.parametrize("room", [0, 100_000])
def test_a_full_disk_is_not_taken_for_a_file_of_another_kind(tmp_path: Path, monkeypatch, room: int) -> None:
    path = packed(tmp_path / "runs", cut=1)
    real = inflate._put

    def put(plain, data, most):
        left = room - plain.tell()
        if left < len(data):
            real(plain, data[:left], most)
            raise OSError(28, "No space left on device")
        return real(plain, data, most)

    monkeypatch.setattr(inflate, "_put", put)
    log = tbq.open(tmp_path / "runs")
    if room:
        with pytest.warns(
            TbqWarning, match=rf"{path.name}: could not be unpacked beyond its first {room:,} bytes"
        ):
            assert 0 < len(log.scalars()) < ROWS
    else:
        for read in (log.scalars, lambda: log.sql("select * from scalars")):
            with pytest.raises(
                SourceError, match=rf"{path.name}: could not be unpacked beyond its first 0 bytes"
            ):
                read()
    assert [problem.code for problem in log.problems if problem.severity != "info"] == ["unpacking"]
    with pytest.raises(DamageError, match="could not be unpacked"):
        tbq.rewrite(tmp_path / "runs", tmp_path / "new")


def test_no_temporary_directory_at_all(tmp_path: Path, monkeypatch) -> None:
    packed(tmp_path / "runs", cut=1)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "none"))
    with pytest.raises(SourceError, match="could not be unpacked beyond its first 0 bytes: no such file"):
        tbq.open(tmp_path / "runs").scalars()


@pytest.mark.parametrize("members", [1, 2, 5])
def test_what_is_whole_is_no_problem(tmp_path: Path, members: int) -> None:
    data = b"".join([pl.header(), *pl.scalars(["loss"], range(100))])
    size = len(data) // members + 1
    parts = [gzip.compress(data[at : at + size]) for at in range(0, len(data), size)]
    pl.write(tmp_path, *parts, bytes(512), file=pl.name() + ".gz")
    log = tbq.open(tmp_path)
    assert len(log.scalars()) == 100 and log.problems == []
