"""Files that are not what their name says, or change during reading: a clear message, and other data is read."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import zlib
from typing import TYPE_CHECKING, Any

import eventfile as ef
import pytest
from tables import decode

import tbq
from tbq.errors import DamageError, SourceError, TbqWarning
from tbq.source import inflate

if TYPE_CHECKING:
    from pathlib import Path

GOOD = ef.event_file([ef.version(), *(ef.scalar("loss", step, step / 2) for step in range(50))])
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
NAME = "events.out.tfevents.1.host"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A logdir with one good run."""
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / NAME).write_bytes(GOOD)
    (tmp_path / "bad").mkdir()
    return tmp_path


def read(path: Path, code: str | None) -> Any:
    """The scalars of a logdir that reports a problem with this code, or none."""
    log = tbq.open(path)
    if code is None:
        table = log.scalars()
    else:
        with pytest.warns(TbqWarning, match="bad"):
            table = log.scalars()
    assert code is None or code in {problem.code for problem in log.problems}
    return table.to_arrow()


def values_of(table: Any, run: str = "good") -> list[float]:
    return [row["value"] for row in table.to_pylist() if row["run"] == run]


WANTED = [step / 2 for step in range(50)]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (LFS, "git_lfs"),
        (b"These are notes about tfevents files, not events." * 20, "not_events"),
        (bytes(5000), "not_events"),
        (b"\x1f\x8b\x08 not really gzip, and nothing else either" * 3, "not_events"),
        (GOOD[:300] + b"\xff" * 40 + GOOD[300:], "bad_length"),
    ],
)
def test_a_bad_file_is_told_of_and_the_others_are_read(logdir: Path, content: bytes, code: str) -> None:
    (logdir / "bad" / NAME).write_bytes(content)
    assert values_of(read(logdir, code)) == WANTED


@pytest.mark.parametrize("content", [LFS, b"notes " * 50])
def test_nothing_but_bad_files_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(SourceError):
        tbq.open(tmp_path).scalars()


def test_an_empty_file_is_a_run_that_has_not_begun(logdir: Path) -> None:
    (logdir / "bad" / NAME).write_bytes(b"")
    assert values_of(read(logdir, None)) == WANTED


@pytest.mark.skipif(os.name == "nt", reason="FIFOs, devices and links are POSIX")
def test_what_is_no_file_does_not_block_or_loop(logdir: Path) -> None:
    os.mkfifo(logdir / "bad" / NAME)
    os.symlink("/dev/zero", logdir / "bad" / f"{NAME}.zero")
    os.symlink(f"{NAME}.loop", logdir / "bad" / f"{NAME}.loop")
    os.symlink("nowhere", logdir / "bad" / f"{NAME}.nothing")
    os.symlink(logdir, logdir / "bad" / "up")
    os.symlink("../bad", logdir / "bad" / "self")
    (logdir / "bad" / f"{NAME}.folder").mkdir()
    (logdir / "bad" / f"{NAME}.folder" / NAME).write_bytes(GOOD)
    table = read(logdir, "unreadable")
    assert values_of(table) == WANTED
    assert values_of(table, f"bad/{NAME}.folder") == WANTED
    assert set(table["run"].to_pylist()) == {"good", f"bad/{NAME}.folder"}


@pytest.mark.skipif(os.name == "nt", reason="links are POSIX")
def test_every_kind_of_unreadable_file_has_its_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    os.symlink("loop", tmp_path / "loop")
    (tmp_path / "folder").mkdir()
    (tmp_path / "good").write_bytes(GOOD)
    paths = [tmp_path / name for name in ("fifo", "loop", "folder", "gone", "good", "good/inside", "n" * 300)]
    decoded = decode(paths)
    assert [row.value for row in decoded.rows] == WANTED
    assert [report.error for report in decoded.files] == [
        errno.EINVAL,
        errno.ELOOP,
        errno.EISDIR,
        errno.ENOENT,
        0,
        errno.ENOTDIR,
        errno.ENAMETOOLONG,
    ]


@pytest.mark.parametrize(
    "pack", [gzip.compress, zlib.compress, lambda data: gzip.compress(data[:999]) + gzip.compress(data[999:])]
)
def test_packed_files_are_read_like_plain_ones(logdir: Path, pack: Any) -> None:
    (logdir / "bad" / NAME).write_bytes(pack(GOOD))
    table = read(logdir, None)
    assert values_of(table, "bad") == values_of(table) == WANTED


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_packed_file_that_is_cut_off_gives_a_prefix(logdir: Path, pack: Any) -> None:
    packed = pack(GOOD)
    for cut in (len(packed) // 2, len(packed) - 1, len(packed) - 9):
        (logdir / "bad" / NAME).write_bytes(packed[:cut])
        got = values_of(read(logdir, "unpacking"), "bad")
        assert got == WANTED[: len(got)]
        assert len(got) >= cut * 50 // len(packed) - 25


def test_a_packed_file_with_a_flipped_bit_gives_what_came_before_and_says_so(logdir: Path) -> None:
    plain = GOOD + ef.event_file([ef.text("noise", 1, os.urandom(40_000))]) + GOOD
    packed = bytearray(gzip.compress(plain))
    packed[-9000] ^= 255
    packed[-8] ^= 255  # and its own checksum
    (logdir / "bad" / NAME).write_bytes(packed)
    table = read(logdir, "unpacking")
    assert values_of(table) == WANTED
    assert values_of(table, "bad")[:50] == WANTED


def test_zeros_behind_a_packed_file_are_no_damage(logdir: Path) -> None:
    (logdir / "bad" / NAME).write_bytes(gzip.compress(GOOD) + bytes(3000))
    assert values_of(read(logdir, None), "bad") == WANTED


def test_a_bomb_stops_before_the_disk_is_full(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(GOOD + bytes(20 << 20))
    assert len(bomb) < 50_000
    (logdir / "bad" / NAME).write_bytes(bomb)
    monkeypatch.setattr(inflate, "_RESERVE", 4 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(1, 1, 0))
    table = read(logdir, "unpacking")
    assert values_of(table) == values_of(table, "bad") == WANTED


def test_packed_files_of_many_runs_on_many_threads(tmp_path: Path) -> None:
    for run in range(24):
        (tmp_path / f"run{run}").mkdir()
        data = ef.event_file([ef.version(), *(ef.scalar("loss", step, run) for step in range(20 + run))])
        (tmp_path / f"run{run}" / NAME).write_bytes(gzip.compress(data))
    table = tbq.open(tmp_path).scalars(threads=8).to_arrow()
    for run in range(24):
        assert values_of(table, f"run{run}") == [run] * (20 + run)


def test_a_directory_that_cannot_be_listed_is_told(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("bad"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.warns(TbqWarning, match="bad: cannot be listed: permission denied"):
        log = tbq.open(logdir)
    assert values_of(log.scalars().to_arrow()) == WANTED
    assert [problem.code for problem in log.problems] == ["unreadable"]
    with pytest.raises(DamageError, match="cannot be listed"):
        log.scalars(on_error="raise")


def test_a_file_that_goes_while_it_is_read(logdir: Path) -> None:
    """Listed by open, gone before it is decoded."""
    (logdir / "bad" / NAME).write_bytes(GOOD)
    log = tbq.open(logdir)
    (logdir / "bad" / NAME).unlink()
    with pytest.warns(TbqWarning, match="was deleted while it was read"):
        table = log.scalars().to_arrow()
    assert values_of(table) == WANTED
    assert [problem.code for problem in log.problems] == ["unreadable"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_what_is_no_file_is_named(logdir: Path) -> None:
    os.mkfifo(logdir / "bad" / NAME)
    with pytest.warns(TbqWarning, match="is a pipe, not a file"):
        assert values_of(tbq.open(logdir).scalars().to_arrow()) == WANTED
    (logdir / "bad" / NAME).unlink()
    (logdir / "bad" / NAME).symlink_to("/dev/zero")
    with pytest.warns(TbqWarning, match="is a device, not a file"):
        assert values_of(tbq.open(logdir).scalars().to_arrow()) == WANTED
    (logdir / "bad" / NAME).unlink()
    (logdir / "bad" / NAME).symlink_to("nowhere")
    with pytest.raises(SourceError, match="is a broken link"):
        tbq.open(logdir / "bad").scalars()


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    """Truncated by the reader's own callback about a tag, in the middle of the read."""
    path = tmp_path / NAME
    path.write_bytes(GOOD + ef.event_file([ef.scalar("late", 1, 1.0)]) * 3 + GOOD * 20)

    def cut(tag: str) -> bool:
        if tag == "late":
            with path.open("r+b") as file:
                file.truncate(len(GOOD) + 1000)
        return True

    decoded = decode([path], block=256, select=cut)
    losses = [row.value for row in decoded.rows if row.tag == "loss"]
    assert losses[:50] == WANTED
    assert 50 <= len(losses) < 80
    assert decoded.files[0].error == 0


def test_a_file_that_grows_is_read_on_from_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / NAME
    whole = 0
    for cut in range(0, len(GOOD), 97):
        path.write_bytes(GOOD[:cut])
        decoded = decode([path])
        assert len(decoded.rows) >= whole
        assert decoded.files[0].resume + decoded.files[0].truncated == cut
        whole = len(decoded.rows)


def test_a_failure_in_the_callers_own_code_comes_through(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(GOOD)

    def fail(tag: str) -> bool:
        raise KeyError("mine")

    for threads in (1, 3):
        with pytest.raises(KeyError, match="mine"):
            decode([path, path], select=fail, threads=threads)


def test_tags_that_are_not_utf8_or_hold_zeros(tmp_path: Path) -> None:
    path = tmp_path / NAME
    tags = [b"\xff\xfe", b"a\x00b", b"", b"\xed\xa0\x80", "ü/\U0001f600".encode()]
    path.write_bytes(ef.event_file([ef.version(), *(ef.scalar(tag, i, i) for i, tag in enumerate(tags))]))
    decoded = decode([path])
    assert {row.step: row.tag for row in decoded.rows} == {
        0: r"\xff\xfe",
        1: "a\0b",
        2: "",
        3: r"\xed\xa0\x80",
        4: "ü/\U0001f600",
    }
