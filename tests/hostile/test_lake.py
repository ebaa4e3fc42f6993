"""A lake in trouble: syncs that are stopped at any moment, two at once, a full disk, and places that are not lakes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import eventfile as ef
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from lakes import assert_same, lake_rows

import tbq.lake
from tbq.errors import OutputError, SourceError, TbqError, UsageError
from tbq.lake.location import Local
from tbq.lake.tables import LakeTable

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


class Stopped(BaseException):
    """The process ends here."""


def scalars(tag: str, steps: range, wall: float = 100.0) -> bytes:
    return b"".join(ef.record(ef.scalar(tag, step, step / 2, wall + step)) for step in steps)


def text(step: int) -> bytes:
    value = ef.value("notes", ef.tensor("string", [b"words"]), ef.metadata("text", data_class=2))
    return ef.record(ef.event(ef.summary(value), step=step, wall=150.0))


def write(path: Path, data: bytes, wall: float = 99.0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ef.record(ef.version(wall)) + data)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def make_log(root: Path) -> None:
    for run in "abc":
        write(root / run / "events.out.tfevents.1.h", scalars("loss", range(20)) + scalars("acc", range(5)))


def change_log(root: Path) -> None:
    """One run grows, one is resumed, one is gone, and one is new, with a kind that was not there before."""
    append(root / "a" / "events.out.tfevents.1.h", scalars("loss", range(20, 30)))
    write(root / "b" / "events.out.tfevents.2.h", scalars("loss", range(10, 12), 900.0), 900.0)
    shutil.rmtree(root / "c")
    write(root / "d" / "events.out.tfevents.1.h", scalars("loss", range(3)) + text(1))


@contextmanager
def stopping(at: int, after: bool) -> Iterator[list[str]]:
    """The process ends before or after the `at`-th time that something is written or committed."""
    done: list[str] = []

    def hooked(original: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            done.append(name)
            if len(done) == at and not after:
                raise Stopped
            value = original(*args, **more)
            if len(done) == at and after:
                raise Stopped
            return value

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Local, "create", hooked(Local.create, "create"))
        patch.setattr(Local, "write", hooked(Local.write, "write"))
        patch.setattr(LakeTable, "_commit", hooked(LakeTable._commit, "commit"))
        yield done


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True])
def test_a_sync_may_be_stopped_at_any_moment(tmp_path: Path, after: bool) -> None:
    log, first = tmp_path / "log", tmp_path / "first"
    make_log(log)
    tbq.lake.sync(log, first)
    change_log(log)
    at, ended = 0, False
    while not ended:
        at += 1
        lake = tmp_path / f"lake{at}"
        shutil.copytree(first, lake)
        with stopping(at, after) as done:
            try:
                tbq.lake.sync(log, lake)
                ended = True
            except Stopped:
                pass
        for kind in ("scalars", "texts", "runs", "tags"):  # nothing twice, whichever tables were committed
            rows = lake_rows(lake, kind)
            assert len(set(rows)) == len(rows)
        tbq.lake.sync(log, lake)
        assert_same(lake, log)
        assert not tbq.lake.sync(log, lake)
    assert done.count("commit") >= 5, "several tables are committed"


@pytest.mark.long
def test_the_first_sync_may_be_stopped_at_any_moment(tmp_path: Path) -> None:
    log = tmp_path / "log"
    make_log(log)
    change_log(log)
    for at in range(1, 100):
        lake = tmp_path / f"lake{at}"
        with stopping(at, after=True):
            try:
                tbq.lake.sync(log, lake)
                return
            except Stopped:
                pass
        tbq.lake.sync(log, lake)
        assert_same(lake, log)
    raise AssertionError("it never ended")


@pytest.mark.long
def test_it_may_be_stopped_again_and_again(tmp_path: Path) -> None:
    """Each attempt is stopped one commit later, while the log grows."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    change_log(log)
    for at in range(2, 40, 3):
        append(log / "a" / "events.out.tfevents.1.h", scalars("loss", range(30 + at, 33 + at)))
        with stopping(at, after=True):
            try:
                tbq.lake.sync(log, lake)
            except Stopped:
                continue
        assert_same(lake, log)
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


@pytest.mark.long
def test_two_syncs_at_once(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    script = "import sys, tbq.lake; tbq.lake.sync(sys.argv[1], sys.argv[2])"
    for _ in range(3):
        both = [
            subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", script, str(log), str(lake)], stderr=subprocess.PIPE
            )
            for _ in range(2)
        ]
        for process in both:
            _, words = process.communicate(timeout=200)
            assert process.returncode == 0, words.decode()
        assert_same(lake, log)
        append(log / "a" / "events.out.tfevents.1.h", scalars("loss", range(20, 30)))
        write(log / f"new{len(list(log.iterdir()))}" / "events.out.tfevents.1.h", scalars("loss", range(9)))


@pytest.mark.long
def test_two_syncs_without_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object store has no lock: the second sync commits between the commits of the first."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    change_log(log)

    @contextmanager
    def unlocked(_self: Local) -> Iterator[None]:
        yield

    monkeypatch.setattr(Local, "lock", unlocked)
    original = LakeTable._commit
    for between in (1, 2, 4):
        calls = 0

        def commit(self: LakeTable, *args: Any, between: int = between) -> None:
            nonlocal calls
            calls += 1
            if calls == between:
                append(log / "a" / "events.out.tfevents.1.h", scalars("loss", range(50 + between, 60)))
                tbq.lake.sync(log, lake)
            original(self, *args)

        append(log / "d" / "events.out.tfevents.1.h", scalars("loss", range(3, 5 + between)))
        with monkeypatch.context() as patch:
            patch.setattr(LakeTable, "_commit", commit)
            tbq.lake.sync(log, lake)
        tbq.lake.sync(log, lake)
        assert_same(lake, log)


def test_another_sync_just_after_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another sync reads a grown run, commits the first table and dies, before this sync reopens the table."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)

    @contextmanager
    def unlocked(_self: Local) -> Iterator[None]:
        yield

    monkeypatch.setattr(Local, "lock", unlocked)
    monkeypatch.setattr("tbq.lake.share.SHARE_RUNS", 1)
    original, calls = LakeTable._commit, 0

    def commit(self: LakeTable, *args: Any) -> None:
        nonlocal calls
        calls += 1
        number = calls
        original(self, *args)
        if number == 1:
            append(log / "a" / "events.out.tfevents.1.h", scalars("loss", range(20, 30)))
            with pytest.raises(Stopped):
                tbq.lake.sync(log, lake)
        elif number == 2:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(LakeTable, "_commit", commit)
        tbq.lake.sync(log, lake)
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    before = {kind: lake_rows(lake, kind) for kind in ("scalars", "runs")}
    change_log(log)

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OutputError, match="no space left on device") as caught:
            tbq.lake.sync(log, lake)
    assert caught.value.hint is not None
    assert before == {kind: lake_rows(lake, kind) for kind in before}
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_full_disk_in_the_middle_of_the_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    from deltalake.exceptions import DeltaError

    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    change_log(log)
    original = DeltaTable.create_write_transaction
    calls = 0

    def full(self: DeltaTable, *args: Any, **more: Any) -> None:
        nonlocal calls
        calls += 1
        if calls >= at:
            raise DeltaError(
                "Generic LocalFileSystem error\n   \x1b[31m↳\x1b[0m No space left on device\n\n   0: frame"
            )
        original(self, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "create_write_transaction", full)
        with pytest.raises(
            OutputError,
            match="error: No space left on device\n  earlier",
        ):
            tbq.lake.sync(log, lake)
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


def test_without_deltalake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_log(tmp_path / "log")
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(TbqError, match=r"deltalake, which is not installed\n  .*pip install .*\[lake\]'"):
        tbq.lake.sync(tmp_path / "log", tmp_path / "lake")
    assert not (tmp_path / "lake").exists()


def test_a_lost_position_is_made_again(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    shutil.rmtree(lake / "_tbq" / "positions")
    change_log(log)
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"{}" * 400])
def test_a_damaged_position_is_made_again(tmp_path: Path, damage: bytes) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    for path in (lake / "_tbq" / "positions").iterdir():
        path.write_bytes(damage)
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


def test_places_that_are_not_lakes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    make_log(log)

    def refused(lake: Path, words: str, error: type[TbqError] = OutputError) -> None:
        before = sorted(path.name for path in lake.rglob("*"))
        with pytest.raises(error, match=words):
            tbq.lake.sync(log, lake)
        assert sorted(path.name for path in lake.rglob("*")) == before, "nothing is written there"

    refused(log, "its own lake", UsageError)
    other = tmp_path / "other"
    write(other / "events.out.tfevents.1.h", scalars("loss", range(3)))
    refused(other, "log directory")
    table = tmp_path / "table"
    write_deltalake(table, pa.table({"a": [1]}))
    refused(table, "is a Delta table")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    refused(folder, "neither empty nor a lake")
    with pytest.raises(SourceError, match="not a lake"):
        tbq.lake.open(folder)


def test_a_lake_that_holds_a_password(tmp_path: Path) -> None:
    """Older versions stored URLs with passwords: the message says so without showing the password."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    config = lake / "_tbq" / "lake.json"
    config.write_text(config.read_text().replace(str(log), "http://me:HIDDEN@127.0.0.1:1/log"))
    with pytest.raises(UsageError, match="this lake holds a password") as failure:
        tbq.lake.sync("http://me:HIDDEN@127.0.0.1:1/log", lake)
    assert "HIDDEN" not in str(failure.value)


def test_lakes_of_others(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    with pytest.raises(UsageError, match="is a lake, not a log directory"):
        tbq.lake.sync(lake, tmp_path / "second")
    assert not (tmp_path / "second").exists()
    for selection in ({"tag": "loss"}, {"run": "a"}, {"kinds": "scalars"}):
        with pytest.raises(UsageError, match="this lake was made with"):
            tbq.lake.sync(log, lake, **selection)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="this lake was made with"):
        tbq.lake.sync(log / "a", lake)
    config = lake / "_tbq" / "lake.json"
    text = json.loads(config.read_text())
    config.write_text(json.dumps({**text, "tbq_lake": 2}))
    for use in (lambda: tbq.lake.sync(log, lake), lambda: tbq.open(lake)):
        with pytest.raises(SourceError, match="version 2; this tbq reads version 1"):
            use()
    config.write_text("{")
    with pytest.raises(SourceError, match="damaged"):
        tbq.open(lake)
    config.write_text(json.dumps(text))
    shutil.rmtree(lake / "texts", ignore_errors=True)
    write_deltalake(lake / "texts", pa.table({"a": [1]}))
    with pytest.raises(SourceError, match="not a table of this lake"):
        tbq.lake.sync(log, lake)


def test_an_empty_log_directory_does_not_empty_the_lake(tmp_path: Path) -> None:
    """A disk that is not mounted must not delete everything."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    rows = lake_rows(lake, "scalars")
    shutil.rmtree(log)
    with pytest.raises(SourceError):
        tbq.lake.sync(log, lake)
    log.mkdir()
    with pytest.raises(SourceError, match="no event files"):
        tbq.lake.sync(log, lake)
    assert lake_rows(lake, "scalars") == rows


def test_damage_is_in_the_problems_table(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    path = log / "b" / "events.out.tfevents.1.h"
    data = bytearray(path.read_bytes())
    data[200] ^= 4
    path.write_bytes(data)
    tbq.lake.sync(log, lake)
    assert_same(lake, log)
    problems = DeltaTable(lake / "problems").to_pyarrow_table().to_pylist()
    assert [(row["code"], row["run"], row["path"]) for row in problems] == [("bad_payload", "b", str(path))]
    append(path, scalars("loss", range(20, 25)))
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


def test_runs_that_are_gone_may_be_kept(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    shutil.rmtree(log / "c")
    tbq.lake.sync(log, lake, keep_gone=True)
    assert tbq.open(lake).runs == ["a", "b", "c"]
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


def test_what_needs_event_files_says_so_of_a_lake(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    for use in (
        lambda: tbq.follow(lake),
        lambda: tbq.doctor(lake),
        lambda: tbq.rewrite(lake, tmp_path / "out"),
        lambda: tbq.open([lake, log]),
        lambda: tbq.open(f"name:{lake}"),
        lambda: tbq.open(lake, merge_runs="re:(.)"),
    ):
        with pytest.raises(UsageError, match="is a lake") as wrong:
            use()
        assert str(log) in str(wrong.value), "it names the log directory"
    assert tbq.open(lake.as_uri()).runs == ["a", "b", "c"]


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"PAR1")])
def test_data_files_that_are_gone_or_damaged(tmp_path: Path, damage: Callable[[Path], Any]) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_log(log)
    tbq.lake.sync(log, lake)
    for kind in ("scalars", "tags"):
        for path in (lake / kind).glob("*.parquet"):
            damage(path)
    with pytest.raises(SourceError, match=r"this data file of the lake is (gone|damaged)"):
        tbq.open(lake).scalars()
    append(log / "a" / "events.out.tfevents.1.h", scalars("loss", range(20, 30)))
    with pytest.raises(SourceError, match="delete the folder tags of the lake"):
        tbq.lake.sync(log, lake)
    shutil.rmtree(lake / "tags")
    shutil.rmtree(lake / "scalars")
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


@pytest.mark.skipif(os.name == "nt", reason="such names are of POSIX")
@pytest.mark.parametrize("name", ["la%20ke", "la\\ke", "la\nke", os.fsdecode(b"la\xffke")])
def test_a_folder_that_deltalake_takes_for_another(tmp_path: Path, name: str) -> None:
    """It would commit to another path."""
    log = tmp_path / "log"
    with tbq.SummaryWriter(log / "a") as writer:
        writer.add_scalar("loss", 0.5, 0)
    for other in ("la ke", "la/ke"):
        tbq.lake.sync(log, tmp_path / other)
    with pytest.raises(UsageError, match="deltalake would open another path"):
        tbq.lake.sync(log, tmp_path / name)
    assert not (tmp_path / name).exists()
    tbq.lake.sync(log, tmp_path / "50%" / "lake")
    assert tbq.open(tmp_path / "50%" / "lake").runs == tbq.open(log).runs
