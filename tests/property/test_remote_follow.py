"""Whatever happens to the objects of a bucket: readers and followers have the rows of a directory with the
same bytes, and fetch nothing twice; also if servers fail for single objects, once they answer again."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from buckets import Bucket, Request, S3Server
from hypothesis import given
from hypothesis import strategies as st
from lakes import exact_rows
from livelog import OPERATIONS, LiveLog, New
from profiles import examples
from webserver import Asked, Web, scripted

import tbq
from tbq import _core
from tbq.errors import TbqError
from tbq.source import fetch, mirror, store
from tbq.source.walk import is_event_file

KINDS = ["scalars", *(name for name in _core.tables() if _core.kind_of_table(name) == name)]
pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
_numbers = itertools.count()
#: A machine may be too busy to answer within the usual times. These tests allow no retry, so an answer may be late.
PATIENT = {"connect_timeout": "200s", "timeout": "200s"}


def opened(path: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Every table; without rows if there is nothing to open."""
    try:
        log = tbq.open(path, storage=PATIENT)
    except TbqError:
        return {kind: [] for kind in KINDS}
    tables = {}
    for kind in KINDS:
        try:
            tables[kind] = exact_rows(log.table(kind, on_error="ignore").to_arrow())
        except TbqError:
            tables[kind] = []
    return tables


@contextlib.contextmanager
def fresh(folder: Path, server: S3Server) -> Iterator[tuple[Bucket, pytest.MonkeyPatch]]:
    """An empty bucket with an empty cache; what is patched is as before afterwards."""
    for each in ("log", "cache"):
        shutil.rmtree(folder / each, ignore_errors=True)
    bucket = server.bucket(f"property-{next(_numbers)}")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in bucket.storage.items():
            patched.setenv(name.upper(), value)
        patched.setenv("TBQ_CACHE", str(folder / "cache"))
        yield bucket, patched


class Synced:
    """A bucket that is made equal to a directory, object by object."""

    def __init__(self, bucket: Bucket, root: Path) -> None:
        self.bucket, self.root = bucket, root
        self._there: dict[str, bytes] = {}

    def sync(self) -> None:
        here = {
            f"log/{path.relative_to(self.root).as_posix()}": path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file()
        }
        self.bucket.put_many({key: data for key, data in here.items() if self._there.get(key) != data})
        for key in self._there.keys() - here.keys():
            self.bucket.delete(key)
        self._there = here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("remote")


@pytest.mark.long
@examples(15)
@given(
    operations=st.lists(OPERATIONS, min_size=5, max_size=25),
    settled=st.sampled_from([-1.0, 3600.0]),  # whether files are links to the cache, or copies
    most=st.sampled_from([None, None, 1, 5000]),
    piece=st.sampled_from([100, 10_000, 8 << 20]),
    limit=st.sampled_from(["1", "20000", "1GB"]),  # of the cache
)
def test_a_bucket_is_read_as_a_directory(
    operations: list[Any],
    settled: float,
    most: int | None,
    piece: int,
    limit: str,
    folder: Path,
    s3_server: S3Server,
) -> None:
    root = folder / "log"
    with fresh(folder, s3_server) as (bucket, patched):
        patched.setenv("TBQ_CACHE_SIZE", limit)
        patched.setattr(mirror, "_SETTLED", settled)
        patched.setattr(fetch, "PIECE", piece)
        log = LiveLog(root)
        synced = Synced(bucket, root)
        with tbq.follow(bucket.url("log"), on_error="ignore", storage=PATIENT) as follower:
            assert not follower.poll()

            def agree() -> None:
                synced.sync()
                while follower.poll(most=most).left:
                    pass
                want = opened(root)
                for kind in KINDS:
                    assert exact_rows(follower.table(kind).to_arrow()) == want[kind], kind
                bucket.requests.clear()
                assert not follower.poll()
                # If nothing is listed, there may be an object of that very name.
                assert bucket.count() == ({"list": 1} if any(root.rglob("*.h")) else {"list": 1, "head": 1})
                assert opened(bucket.url("log")) == want

            log.apply(New(0, 1, 1.0))
            for operation in operations:
                if operation == "poll":
                    agree()
                    continue
                log.apply(operation)
            agree()
            kept = [path.stat().st_size for path in (folder / "cache" / "objects").rglob("*.events")]
            assert sum(kept) <= tbq.limits.size_of(os.environ["TBQ_CACHE_SIZE"])


class Chooser:
    """Chooses one of four requests for event files, by its method, its path and how often it came before.

    Sixteen threads send requests in any order, so a choice by that order would make examples random. Without a
    number, it chooses none.
    """

    def __init__(self, number: int | None) -> None:
        self._number = number
        self._before: Counter[str] = Counter()

    def chooses(self, method: str, path: str) -> bool:
        if not is_event_file(path.rpartition("/")[2]):
            return False
        name = f"{method} {path}"
        self._before[name] += 1
        return zlib.crc32(f"{name} {self._before[name]}".encode()) % 4 == self._number


STATUSES = ["403 Forbidden", "404 Not Found", "500 Oops", "400 Bad Request", "503 Slow Down"]
#: for each check, which requests for objects fail, and how
FAULTS = st.lists(
    st.none() | st.tuples(st.integers(0, 3), st.sampled_from(STATUSES)), min_size=3, max_size=12
)


@pytest.mark.long
@examples(12)
@given(
    operations=st.lists(OPERATIONS, min_size=4, max_size=16),
    faults=FAULTS,
    restarts=st.sampled_from(["resume", "keep", "last", "tensorboard"]),
)
def test_a_bucket_of_which_objects_fail(
    operations: list[Any], faults: list[Any], restarts: Any, folder: Path, s3_server: S3Server
) -> None:
    root = folder / "log"
    with fresh(folder, s3_server) as (bucket, patched):
        patched.setattr(store, "_retries", lambda patient: {"max_retries": 0})
        store._connect.cache_clear()
        log, synced = LiveLog(root), Synced(bucket, root)
        with tbq.follow(bucket.url("log"), on_error="ignore", restarts=restarts, storage=PATIENT) as follower:
            script = itertools.cycle(faults)
            failed: set[str] = set()

            def look() -> None:
                number, status = next(script) or (None, "")
                chooser = Chooser(number)
                failed.clear()

                def before(request: Request) -> tuple[str, bytes] | None:
                    path = request.path.partition("/log/")[2]
                    if "list-type" in request.query or not chooser.chooses(request.method, path):
                        return None
                    failed.add(f"log/{path}")
                    return status, b"no"

                s3_server.before = before
                update = follower.poll()
                s3_server.before = None
                del update
                unfetched = {problem.path for problem in follower._unfetchable}
                assert unfetched <= {bucket.url(key) for key in failed}

            log.apply(New(0, 1, 1.0))
            for operation in operations:
                if operation == "poll":
                    synced.sync()
                    look()
                else:
                    log.apply(operation)
            synced.sync()
            follower.poll()
            try:
                local = tbq.open(root)
            except tbq.TbqError:
                local = None
            for kind in KINDS:
                want: list[Any] = []
                if local is not None:
                    try:
                        want = exact_rows(local.table(kind, on_error="ignore", restarts=restarts).to_arrow())
                    except tbq.TbqError:
                        want = []
                assert exact_rows(follower.table(kind).to_arrow()) == want, kind
            assert opened(bucket.url("log")) == opened(root)
        store._connect.cache_clear()


class Clock:
    """A clock for the server and its readers that moves in chosen steps: servers tell times in whole seconds."""

    def __init__(self, steps: list[float]) -> None:
        self._steps = itertools.cycle(steps)
        self._now = 1e9

    def time(self) -> float:
        return self._now

    def tick(self) -> None:
        self.wait(next(self._steps))

    def wait(self, seconds: float) -> None:
        self._now += seconds


def mirrored(web: Web, root: Path, now: float) -> None:
    """Make the server's files equal to a directory."""
    here = {
        f"log/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
    here["log/readme"] = b"the directory is there"
    for name in web.files.keys() - here.keys():
        del web.files[name]
    for name, data in here.items():
        if web.files.get(name) != data:
            web.put(name, data, now)


@pytest.mark.long
@examples(12)
@given(
    operations=st.lists(OPERATIONS, min_size=4, max_size=16),
    faults=st.lists(
        st.none() | st.tuples(st.integers(0, 3), st.sampled_from([403, 404, 405, 500])), min_size=3
    ),
    etags=st.booleans(),
    ranges=st.booleans(),
    small=st.sampled_from([100, 1 << 20]),
    steps=st.lists(st.sampled_from([0.0, 0.3, 0.9, 2.1, 700.0]), min_size=1, max_size=5),
)
def test_a_web_server_of_which_files_fail(
    operations: list[Any],
    faults: list[Any],
    etags: bool,
    ranges: bool,
    small: int,
    steps: list[float],
    folder: Path,
) -> None:
    root, cache, clock = folder / "weblog", folder / "webcache", Clock(steps)
    for each in (root, cache):
        shutil.rmtree(each, ignore_errors=True)
    with pytest.MonkeyPatch.context() as patched, scripted() as web:
        patched.setenv("TBQ_CACHE", str(cache))
        patched.setattr(store, "_retries", lambda patient: {"max_retries": 0})
        patched.setattr(mirror, "_SMALL", small)
        patched.setattr(mirror, "time", clock)
        store._connect.cache_clear()
        web.etags, web.ranges = etags, ranges
        log = LiveLog(root)
        log.apply(New(0, 1, 1.0))
        mirrored(web, root, clock.time())
        with tbq.follow(f"{web.url}/log", on_error="ignore", storage=PATIENT) as follower:
            script = itertools.cycle(faults)

            def look() -> None:
                number, status = next(script) or (None, None)
                chooser = Chooser(number)

                def answer(asked: Asked) -> int | None:
                    return status if chooser.chooses(asked.method, asked.path) else None

                web.answer = answer
                follower.poll()
                web.answer = lambda asked: None

            for operation in operations:
                clock.tick()
                if operation == "poll":
                    mirrored(web, root, clock.time())
                    look()
                else:
                    log.apply(operation)
            mirrored(web, root, clock.time())
            if small == 100:  # a file that grew is compared completely once it no longer changes
                clock.wait(700.0)
            follower.poll()
            want = opened(root)
            for kind in KINDS:
                assert exact_rows(follower.table(kind).to_arrow()) == want[kind], kind
            assert opened(f"{web.url}/log") == want
        store._connect.cache_clear()
