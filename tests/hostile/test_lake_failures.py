"""Files that cannot be read during a sync: the lake keeps its rows, the sync warns, and the next one tries again."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from buckets import Bucket, Request, S3Server
from lakes import assert_same
from protos import add_hparams

import tbq
import tbq.lake
from tbq.errors import SourceError, TbqWarning
from tbq.lake import decoded
from tbq.source import walk

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")

NAME = "events.out.tfevents.1.host"
LIBRARY = Path(__file__).parents[1] / "fixtures" / "failing_disk.cpp"


def events(count: int, wall: float = 100.0) -> bytes:
    return ef.event_file(
        [ef.version(wall), *(ef.scalar("loss", i, i, wall + i) for i in range(count))],
    )


def rows(lake: Any) -> dict[str, int]:
    """The number of scalars of each run in a lake."""
    runs = tbq.open(lake).scalars().to_arrow()["run"].to_pylist()
    return {run: runs.count(run) for run in set(runs)}


ANSWERS = ["400 Bad Request", "403 Forbidden", "404 Not Found", "410 Gone", "416 Range Not Satisfiable"]


@pytest.mark.parametrize(
    ("answer", "how"),
    list(zip(ANSWERS, ["grown", "replaced", "restarted", "grown", "replaced"], strict=True)),
)
def test_an_object_that_fails_once(
    bucket: Bucket, s3_server: S3Server, tmp_path: Path, answer: str, how: str
) -> None:
    lake = tmp_path / "lake"
    for run in "abc":
        bucket.put(f"runs/{run}/{NAME}", events(10))
    tbq.lake.sync(bucket.url("runs"), lake)
    before = rows(lake)
    bucket.put(f"runs/a/{NAME}", events(12))
    changed = {
        "grown": (f"runs/b/{NAME}", events(15)),
        "replaced": (f"runs/b/{NAME}", events(15, wall=50.0)),
        "restarted": (f"runs/b/{NAME}2", events(5, wall=500.0)),
    }[how]
    bucket.put(*changed)
    failing = request_path(bucket, changed[0])

    def fail(request: Request) -> tuple[str, bytes] | None:
        return (answer, b"") if request.method == "GET" and request.path == failing else None

    s3_server.before = fail
    try:
        for _ in range(2):
            with warnings.catch_warnings(record=True) as reported:
                warnings.simplefilter("always")
                try:
                    done = tbq.lake.sync(bucket.url("runs"), lake)
                except SourceError as failure:  # not one object could be fetched: the lake is as it was
                    assert changed[0] in str(failure)
                else:
                    if how == "restarted":  # the lake never had that file: it has what can be read
                        codes = [row["code"] for row in tbq.open(lake).table("problems").to_dicts()]
                        assert codes == ["unreadable"]
                        continue
                    assert done.unread == 1 and "1 run could not be read" in str(done)
                    assert any("the lake keeps its rows of run 'b'" in str(each.message) for each in reported)
            assert rows(lake)["b"] == before["b"] and rows(lake)["c"] == before["c"]
    finally:
        s3_server.before = None
    tbq.lake.sync(bucket.url("runs"), lake)
    with_all = {row["run"]: row["events"] for row in tbq.open(bucket.url("runs")).table("runs").to_dicts()}
    assert rows(lake) == with_all
    assert tbq.open(lake).table("problems").to_dicts() == [] or how == "restarted"
    assert not tbq.lake.sync(bucket.url("runs"), lake)


def request_path(bucket: Bucket, key: str) -> str:
    return f"/{bucket.name}/{key}"


def test_a_new_object_that_fails_is_tried_again(bucket: Bucket, s3_server: S3Server, tmp_path: Path) -> None:
    """There are no rows to keep: the lake has what can be read, with a problem, and the rest follows later."""
    lake = tmp_path / "lake"
    for key in ("a/" + NAME, "b/" + NAME, "b/" + NAME + "2"):
        bucket.put(f"runs/{key}", events(10, wall=100.0 if key[-1] != "2" else 500.0))
    failing = {request_path(bucket, f"runs/b/{NAME}2")}
    s3_server.before = lambda request: ("404 Not Found", b"") if request.path in failing else None
    try:
        tbq.lake.sync(bucket.url("runs"), lake)
        assert rows(lake) == {"a": 10, "b": 10}
        assert [row["code"] for row in tbq.open(lake).table("problems").to_dicts()] == ["unreadable"]
        assert not tbq.lake.sync(bucket.url("runs"), lake)  # it fails still: nothing is written
        bucket.put(f"runs/b/{NAME}3", events(3, wall=900.0))
        assert tbq.lake.sync(bucket.url("runs"), lake).replaced == 1  # what can be read comes
    finally:
        s3_server.before = None
    assert tbq.lake.sync(bucket.url("runs"), lake).replaced == 1
    assert len(tbq.open(lake).table("files")) == 4
    assert tbq.open(lake).scalars().to_dicts() == tbq.open(bucket.url("runs")).scalars().to_dicts()
    assert not tbq.lake.sync(bucket.url("runs"), lake)


@pytest.mark.parametrize("answer", ["403 Forbidden", "404 Not Found"])
def test_a_sub_run_that_fails_stays_one(
    bucket: Bucket, s3_server: S3Server, tmp_path: Path, answer: str
) -> None:
    """What a directory below a run is, depends on its objects. The lake knows what it was."""
    lake = tmp_path / "lake"
    of_call = [
        ef.version(),
        ef.event(ef.summary(*(each.SerializeToString() for each in add_hparams({"lr": 1})))),
    ]
    below = f"runs/a/1700000000.5/{NAME}"
    bucket.put(f"runs/a/{NAME}", events(10))
    bucket.put(below, ef.event_file(of_call))
    tbq.lake.sync(bucket.url("runs"), lake)
    before = tbq.open(lake).hparams().to_dicts()
    assert len(before) == 1
    for grown in (False, True):
        shutil.rmtree(tmp_path / "cache")
        if grown:
            bucket.put(below, ef.event_file([*of_call, ef.scalar("hparam/best", 0, 1.0)]))
        else:
            bucket.put(f"runs/a/{NAME}", events(12))
        failing = request_path(bucket, below)
        s3_server.before = lambda request, path=failing: (  # type: ignore[misc]
            (answer, b"") if request.method == "GET" and request.path == path else None
        )
        done = tbq.lake.sync(bucket.url("runs"), lake)
        s3_server.before = None
        assert (done.added, done.gone, done.grown, done.unread) == (0, 0, not grown, grown)
        assert tbq.open(lake).runs == ["a"] and tbq.open(lake).hparams().to_dicts() == before
    tbq.lake.sync(bucket.url("runs"), lake)
    assert tbq.open(lake).scalars().to_dicts() == tbq.open(bucket.url("runs")).scalars().to_dicts()
    assert len(tbq.open(lake).scalars()) == 13 and tbq.open(lake).hparams().to_dicts() == before


def vanish(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that exists when it is listed, and is gone when it is read."""
    original = decoded.decode

    def decode(*args: Any, **more: Any) -> Any:
        away = path.with_name("away")
        path.rename(away)
        try:
            return original(*args, **more)
        finally:
            away.rename(path)

    monkeypatch.setattr(decoded, "decode", decode)


def test_a_file_that_vanishes_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    path = log / "a" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(events(10))
    tbq.lake.sync(log, lake)
    path.write_bytes(events(20, wall=50.0))
    with monkeypatch.context() as patched:
        vanish(path, patched)
        with pytest.warns(TbqWarning, match="cannot be read.*keeps its rows of run 'a'"):
            done = tbq.lake.sync(log, lake)
    assert (done.unread, done.replaced, rows(lake)) == (1, 0, {"a": 10})
    assert tbq.lake.sync(log, lake).replaced == 1
    assert_same(lake, log)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.platform != "linux":
        pytest.skip("libraries are preloaded in this way on Linux")
    compilers = [os.environ.get("CXX"), "c++", "g++", "clang++"]
    compiler = next(found for name in compilers if name and (found := shutil.which(name)))
    made = tmp_path_factory.mktemp("library") / "failing_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, LIBRARY, "-ldl"], check=True)
    return made


@pytest.mark.long
@pytest.mark.parametrize("bad", [0, 200])
def test_a_disk_that_fails(tmp_path: Path, library: Path, bad: int) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    for run in "ab":
        (log / run).mkdir(parents=True)
        (log / run / NAME).write_bytes(events(10))
    path = log / "b" / NAME

    def sync(**environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tbq", "sync", str(log), str(lake)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **environment},
        )
        assert done.returncode == 0, done.stderr
        return done

    failing = {"LD_PRELOAD": str(library), "FAILING_FILE": str(path), "FAILING_FROM": str(bad)}
    sync(**failing)  # there is nothing to keep yet: the lake has what could be read
    assert rows(lake)["a"] == 10 and rows(lake).get("b", 0) < 10
    sync()
    assert_same(lake, log)
    path.write_bytes(events(20, wall=50.0))
    done = sync(**failing)
    assert "reading stopped" in done.stderr and "keeps its rows of run 'b'" in done.stderr
    assert rows(lake) == {"a": 10, "b": 10}
    sync()
    assert_same(lake, log)


def test_a_compressed_file_that_is_cut_for_a_while(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    log.mkdir()
    packed = gzip.compress(events(1000))
    (log / NAME).write_bytes(packed)
    tbq.lake.sync(log, lake)
    for size in (len(packed) // 2, len(packed), 5, len(packed)):
        (log / NAME).write_bytes(packed[:size])
        tbq.lake.sync(log, lake)
        assert_same(lake, log)


def test_a_compressed_file_that_finds_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk for temporary files is full once: the run keeps its rows."""
    from tbq.source import inflate

    log, lake = tmp_path / "log", tmp_path / "lake"
    log.mkdir()
    (log / NAME).write_bytes(gzip.compress(events(10)))
    tbq.lake.sync(log, lake)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for count in (20, 30):
        (log / NAME).write_bytes(gzip.compress(events(count)))
        with monkeypatch.context() as patched:
            patched.setattr(inflate, "_put", full)
            assert tbq.lake.sync(log, lake).unread == 1
        assert rows(lake)["."] == count - 10
        tbq.lake.sync(log, lake)
        assert_same(lake, log)
    shutil.rmtree(lake)
    with monkeypatch.context() as patched:
        patched.setattr(inflate, "_put", full)
        tbq.lake.sync(log, lake)
    assert rows(lake) == {}
    tbq.lake.sync(log, lake)
    assert_same(lake, log)


class _Entries:
    """A listing that fails after this many entries."""

    def __init__(self, entries: Any, most: int) -> None:
        self._entries, self._most = entries, most

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self._entries.close()

    def __iter__(self) -> Any:
        for number, entry in enumerate(self._entries):
            if number >= self._most:
                break
            yield entry
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("most", [0, 1])
@pytest.mark.parametrize("folder", ["", "a"])
def test_a_listing_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, folder: str
) -> None:
    """All of it, or after the first entry: no run is gone, and none loses its files."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    for run in ("a", "b", "a/inner"):
        (log / run).mkdir(parents=True)
        for number in (1, 2):
            (log / run / f"events.out.tfevents.{number}.h").write_bytes(events(10, wall=100.0 * number))
    tbq.lake.sync(log, lake)
    before = rows(lake)
    scandir: Callable[[str], Any] = os.scandir

    def failing(path: str) -> Any:
        entries = scandir(path)
        return _Entries(entries, most) if path == str(log / folder) else entries

    with monkeypatch.context() as patched:
        patched.setattr(walk.os, "scandir", failing)
        with warnings.catch_warnings(record=True) as reported:
            warnings.simplefilter("always")
            try:
                tbq.lake.sync(log, lake)
            except SourceError:  # nothing was found at all
                assert folder == ""
            else:
                (warning,) = reported
                assert str(warning.message).startswith(f"{log / folder}: cannot be listed")
    assert rows(lake) == before
    assert not tbq.lake.sync(log, lake)
    assert_same(lake, log)


@pytest.mark.parametrize("linked", [False, True])
def test_runs_that_cannot_be_reached_are_not_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    """A pattern or a link leads to a directory that cannot be read, as if nothing were there."""
    log, lake, real = tmp_path / "log", tmp_path / "lake", tmp_path / "real"
    for folder in (log / "b" / "x", log / "c" / "x", real / "x"):
        folder.mkdir(parents=True)
        (folder / NAME).write_bytes(events(10))
    (log / "a").symlink_to(real)
    source = str(log) if linked else str(log / "*" / "x")
    tbq.lake.sync(source, lake)
    before = rows(lake)
    stat = os.stat

    def failing(path: Any, *args: Any, **more: Any) -> Any:
        if isinstance(path, str) and path.startswith(str(log / "a")) and more.get("follow_symlinks", True):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return stat(path, *args, **more)

    (log / "a").unlink()  # a directory that cannot be read seems to be empty
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", failing)
        tbq.lake.sync(source, lake)
    assert rows(lake) == before
    done = tbq.lake.sync(source, lake)
    assert done.gone == 1  # now it is known
