"""Output: complete or not at all, never over a file without force; pipes and devices directly."""

import errno
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tbq.errors import OutputError, UsageError
from tbq.export import output, output_path, write
from tbq.export.target import output_folder

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and devices with names are POSIX")


def test_the_target_appears_whole(tmp_path: Path) -> None:
    with output(tmp_path / "a") as stream:
        stream.write(b"one")
        assert not (tmp_path / "a").exists()
    assert (tmp_path / "a").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, OSError])
def test_a_failure_leaves_nothing(tmp_path: Path, failure: type[BaseException]) -> None:
    with pytest.raises(OutputError if failure is OSError else failure), output(tmp_path / "a") as stream:
        stream.write(b"half")
        raise failure
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(KeyError), output(tmp_path / "a", force=True) as stream:
        stream.write(b"new")
        raise KeyError
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_that_is_there_needs_force(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(OutputError, match="--force"), output(tmp_path / "a"):
        raise AssertionError("never entered")
    with output(tmp_path / "a", force=True) as stream:
        stream.write(b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="already exists"), output(tmp_path / "a") as stream:
        stream.write(b"mine")
        (tmp_path / "a").write_bytes(b"theirs")
    assert (tmp_path / "a").read_bytes() == b"theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_is_no_target_and_a_missing_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a folder"), output(tmp_path, force=True):
        pass
    with output(tmp_path / "new" / "folder" / "a"):
        pass
    assert (tmp_path / "new" / "folder" / "a").is_file()
    with pytest.raises(OutputError, match="is not a folder"), output(tmp_path / "new" / "folder" / "a" / "b"):
        pass


@posix
def test_the_mode_is_that_of_a_new_file(tmp_path: Path) -> None:
    with output(tmp_path / "a"):
        pass
    (tmp_path / "b").touch()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)


@posix
@pytest.mark.parametrize(
    ("ending", "mode"),
    [("csv", 0o600), ("csv", 0o644), ("csv", 0o444), ("csv", 0o755)]
    + [(ending, 0o640) for ending in ("csv", "parquet", "sqlite", "duckdb", "npz", "csv.gz")],
)
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, mode: int, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    write(pa.table({"a": [1]}), target)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    target.chmod(mode)
    write(pa.table({"a": [2]}), target, force=True)
    assert stat.S_IMODE(target.stat().st_mode) == mode


@posix
def test_what_becomes_a_private_file_is_private_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "a").touch(0o600)
    with output(tmp_path / "a", force=True) as stream:
        stream.write(b"secret")
        stream.flush()
        others = [path for path in tmp_path.iterdir() if path.name != "a"]
        assert [stat.S_IMODE(path.stat().st_mode) for path in others] == [0o700]
        assert all(path.is_dir() for path in others)


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_is_replaced_keeps_its_owner(tmp_path: Path) -> None:
    (tmp_path / "a").touch(0o640)
    os.chown(tmp_path / "a", 1234, 2345)
    with output(tmp_path / "a", force=True):
        pass
    status = (tmp_path / "a").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o640)


@posix
def test_a_group_that_cannot_be_kept_passes_nothing_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no")

    (tmp_path / "a").touch(0o664)
    monkeypatch.setattr("tbq.export.target._same_owner", lambda *_: False)
    monkeypatch.setattr(os, "chown", refuse)
    with output(tmp_path / "a", force=True):
        pass
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o604


def test_one_of_two_that_write_the_same_new_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the other file appears between the check and the rename."""
    monkeypatch.setattr("tbq.export.target.check_free", lambda *_: None)
    with pytest.raises(OutputError, match="already exists"), output(tmp_path / "a") as stream:
        stream.write(b"mine")
        (tmp_path / "a").write_bytes(b"theirs")
    assert (tmp_path / "a").read_bytes() == b"theirs"


@posix
def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    with output(tmp_path / "a") as stream:
        stream.write(b"mine")
    assert (tmp_path / "a").read_bytes() == b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@posix
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_rename_that_fails_leaves_no_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr("pathlib.Path.hardlink_to", lambda *_: os.link("", ""))
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises((OutputError, KeyboardInterrupt)), output(tmp_path / "a") as stream:
        stream.write(b"one")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["文" * 80, "é" * 120, "a" * 250, "*?", ".hidden"])
def test_names_of_any_kind_and_length(tmp_path: Path, name: str) -> None:
    with output(tmp_path / name) as stream:
        stream.write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with output_folder(tmp_path / "new") as folder:
        (folder / "a").mkdir()
        (folder / "a" / "b").write_bytes(b"x")
        assert not (tmp_path / "new").exists()
    assert (tmp_path / "new" / "a" / "b").read_bytes() == b"x"
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    with pytest.raises(OutputError, match="already exists"), output_folder(tmp_path / "new"):
        raise AssertionError("never entered")
    with pytest.raises(KeyError), output_folder(tmp_path / "other") as folder:
        (folder / "a").write_bytes(b"half")
        raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


@posix
def test_an_empty_folder_is_filled_and_stays_the_folder_it_is(tmp_path: Path) -> None:
    target = tmp_path / "empty"
    target.mkdir(mode=0o700)
    before = target.stat()
    with output_folder(target) as folder:
        (folder / "a").write_bytes(b"x")
        assert not (target / "a").exists()
    assert [path.name for path in target.iterdir()] == ["a"]
    assert (target.stat().st_ino, target.stat().st_mode) == (before.st_ino, before.st_mode)
    (target / "a").unlink()
    with pytest.raises(OutputError, match="another process has created it"), output_folder(target) as folder:
        (folder / "a").write_bytes(b"x")
        (target / "b").write_bytes(b"theirs")
    assert [path.name for path in target.iterdir()] == ["b"]


@posix
def test_a_new_folder_has_the_mode_that_the_umask_gives(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with output_folder(tmp_path / "new"):
        pass
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with output(tmp_path / "link", force=True) as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_an_unwritable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    # For root every folder is writable, so the refusal is simulated.
    monkeypatch.setattr("os.mkdir", refuse)
    with (
        pytest.raises(OutputError, match=r"cannot be written: permission denied\n  choose a folder"),
        output(tmp_path / "a"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device that is always full is Linux's")
@pytest.mark.parametrize("format", ["csv", "parquet", "arrow", "jsonl", "npz", "csv.gz", "csv.zst", "xlsx"])
def test_a_full_disk_is_told(format: str) -> None:
    table = pa.table({"step": range(20_000)})
    with pytest.raises(OutputError, match="no space left"):
        write(table, "/dev/full", format=format)


@posix
@pytest.mark.parametrize("format", ["csv", "parquet", "arrow", "npz"])
def test_a_named_pipe_is_written_directly(tmp_path: Path, format: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    table = pa.table({"step": [1, 2, 3]})
    write(table, pipe, format=format)
    reader.join(10)
    write(table, tmp_path / f"file.{format}")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert got[0][:4] == (tmp_path / f"file.{format}").read_bytes()[:4]
    if format != "npz":  # a zip that cannot seek puts its sizes after the data
        assert got[0] == (tmp_path / f"file.{format}").read_bytes()


@posix
def test_dev_stdout_into_a_file_appends_and_does_not_replace_it(tmp_path: Path) -> None:
    code = (
        "import pyarrow as pa; from tbq.export import write; "
        "write(pa.table({'a': [1]}), '/dev/stdout', format='csv')"
    )
    with open(tmp_path / "out", "wb") as out:
        out.write(b"before\n")
        out.flush()
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"before\na\n1\n"


def test_databases_need_a_file() -> None:
    with pytest.raises(OutputError, match="needs a real file"):
        write(pa.table({"a": [1]}), "-", format="sqlite")
    with pytest.raises(OutputError, match="needs a real file"), output_path("/dev/stdout"):
        pass


@pytest.mark.parametrize("path", ["out", "out.txt", "out.csv.bz2", "out.gz"])
def test_an_unknown_ending(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tbq cannot write|has no extension that names a format") as caught:
        write(pa.table({"a": [1]}), tmp_path / path)
    assert caught.value.exit_code == 2
    assert "parquet" in str(caught.value)


def test_parquet_is_not_squeezed_twice(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not compress parquet files"):
        write(pa.table({"a": [1]}), tmp_path / "out.parquet.gz")


@pytest.mark.parametrize("ending", ["sqlite", "duckdb", "csv", "parquet"])
def test_a_folder_that_takes_nothing_is_told_by_every_format(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr("os.mkdir", refuse)
    with pytest.raises(
        OutputError, match=r"out\.\w+: cannot be written: permission denied\n  choose a folder"
    ):
        write(pa.table({"a": [1]}), tmp_path / f"out.{ending}")


@pytest.mark.parametrize("ending", ["sqlite", "duckdb"])
def test_databases_on_a_full_disk_name_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    connect = sqlite3.connect

    def small(path: str) -> sqlite3.Connection:
        base = connect(path)
        base.execute("pragma max_page_count = 2")
        return base

    def full(*_: object, **__: object) -> None:
        raise duckdb.IOException('IO Error: Could not write file "a": No space left on device')

    monkeypatch.setattr("sqlite3.connect", small)
    monkeypatch.setattr("duckdb.connect", full)
    with pytest.raises(
        OutputError,
        match=r"out\.\w+: cannot be written: no space left on device\n  free some space, or write",
    ):
        write(pa.table({"a": ["x" * 10_000] * 10}), tmp_path / f"out.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_too_many_columns_for_sqlite(tmp_path: Path) -> None:
    table = pa.table({f"c{i}": [1.0] for i in range(2001)})
    with pytest.raises(OutputError, match=r"out\.sqlite: SQLite cannot write it: too many columns"):
        write(table, tmp_path / "out.sqlite")
    assert list(tmp_path.iterdir()) == []
