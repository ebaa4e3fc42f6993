"""Failing answers for one object: a problem of that file, tried again later, and the other files are read."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import eventfile as ef
import pytest
from buckets import Bucket, Request, S3Server
from protos import add_hparams
from webserver import NAME, RECENT, Asked, Web, events, scripted

import tbq
from tbq.errors import DamageError, SourceError
from tbq.source import mirror, store

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(store, "_retries", lambda patient: {"max_retries": 0})
    store._connect.cache_clear()
    yield
    store._connect.cache_clear()


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("TBQ_CACHE", str(tmp_path / "cache"))
    with scripted("abc") as server:
        yield server


def of_object(run: str, status: str) -> Any:
    """A failure of the object of one run, not of listings."""
    return lambda request: (status, b"no") if f"/{run}/" in request.path else None


STATUSES = ["404 Not Found", "403 Forbidden", "400 Bad Request", "500 Oops", "410 Gone"]


@pytest.mark.parametrize(
    ("status", "which"), list(zip(STATUSES, ["first", "one", "all", "one", "first"], strict=True))
)
def test_a_follower_names_what_fails_and_asks_again(
    status: str, which: str, bucket: Bucket, s3_server: S3Server
) -> None:
    bucket.put_many({f"runs/{run}/{NAME}": events(20) for run in "abc"})
    failing = {"first": "a", "one": "b", "all": "abc"}[which]

    def fail(request: Request) -> tuple[str, bytes] | None:
        return (status, b"no") if any(f"/{run}/" in request.path for run in failing) else None

    s3_server.before = fail
    with tbq.follow(bucket.url("runs"), on_error="ignore") as follower:
        update = follower.poll()
        assert len(follower.table()) == 20 * (3 - len(failing))
        assert [(each.path, each.run) for each in update.problems] == [
            (bucket.url(f"runs/{run}/{NAME}"), run) for run in failing
        ]
        assert not follower.poll().problems, "a problem that lasts is named once"
        s3_server.before = None
        assert not follower.poll().problems
        assert len(follower.table()) == 60
        bucket.put(f"runs/b/{NAME}", events(25))
        s3_server.before = of_object("b", status)
        assert [each.run for each in follower.poll().problems] == ["b"], "one that comes again is new"
        assert len(follower.table()) == 60, "what was read stays"
        s3_server.before = None
        assert len(follower.poll().table()) == 5


def test_a_failing_object_does_not_hold_up_pieces(bucket: Bucket, s3_server: S3Server) -> None:
    bucket.put_many({f"runs/{run}/{NAME}": events(20) for run in "abcdef"})
    s3_server.before = of_object("a", "403 Forbidden")
    with tbq.follow(bucket.url("runs"), on_error="ignore") as follower:
        for _ in range(1000):
            if not follower.poll(most=1500).left:
                break
        assert len(follower.table()) == 100


@pytest.mark.parametrize(("status", "denied"), list(zip(STATUSES, ["a", "b", "c", "ab", "a"], strict=True)))
def test_one_failing_object_is_the_problem_of_one_file(
    status: str, denied: str, bucket: Bucket, s3_server: S3Server
) -> None:
    bucket.put_many({f"runs/{run}/{NAME}": events(20) for run in "abc"})

    def fail(request: Request) -> tuple[str, bytes] | None:
        is_denied = any(f"/{run}/" in request.path for run in denied)
        if "list-type" not in request.query and not is_denied:
            time.sleep(0.05)  # the others come later
        return (status, b"no") if is_denied else None

    s3_server.before = fail
    log = tbq.open(bucket.url("runs"))
    for read in (log.scalars, log.tags, log.summary, lambda: log.sql("from scalars")):
        read()
    assert len(log.scalars()) == 20 * (3 - len(denied))
    assert {each.path for each in log.problems} == {bucket.url(f"runs/{run}/{NAME}") for run in denied}
    with pytest.raises(DamageError):
        log.scalars(on_error="raise")
    with pytest.raises(SourceError):
        log.scalars(run=denied[0])
    s3_server.before = None
    assert len(log.scalars()) == 60


@pytest.mark.parametrize("status", [403, 405, 500])
def test_a_server_that_answers_no_head(status: int, web: Web) -> None:
    web.answer = lambda asked: status if asked.method == "HEAD" else None
    web.put("runs/empty/" + NAME, b"")
    for ranges in (True, False):
        web.ranges = ranges
        log = tbq.open(f"{web.url}/runs")
        assert len(log.scalars()) == 60 and log.runs == ["a", "b", "c", "empty"]
        with tbq.follow(f"{web.url}/runs", on_error="ignore") as follower:
            assert len(follower.poll().table()) == 60
            web.put(f"runs/b/{NAME}", events(22), RECENT + 10)
            assert len(follower.poll().table()) == 2
        web.put(f"runs/b/{NAME}", events(20), RECENT + 20)


@pytest.mark.parametrize("status", [404, 405])
def test_a_server_that_answers_no_head_of_one_file(status: int, web: Web) -> None:
    web.answer = lambda asked: status if asked.method == "HEAD" and f"/b/{NAME}" in asked.path else None
    log = tbq.open(f"{web.url}/runs")
    assert len(log.scalars(run="b")) == 20 and not log.problems
    with tbq.follow(f"{web.url}/runs") as follower:
        assert len(follower.poll().table()) == 60 and not follower.problems


@pytest.mark.parametrize("status", [404, 405])
def test_strict_ends_with_an_error_if_a_listed_file_is_not_given(status: int, web: Web) -> None:
    web.answer = lambda asked: status if f"/b/{NAME}" in asked.path else None
    command = [sys.executable, "-m", "tbq", "export", f"{web.url}/runs", "--strict"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode and f"{web.url}/runs/b/{NAME}" in done.stderr


@pytest.mark.parametrize("status", [404, 403, 500])
def test_a_file_that_is_listed_and_not_given(status: int, web: Web) -> None:
    web.answer = lambda asked: status if "/b/" in asked.path and NAME in asked.path else None
    log = tbq.open(f"{web.url}/runs")
    assert len(log.scalars()) == 40
    assert [each.path for each in log.problems] == [f"{web.url}/runs/b/{NAME}"]
    with pytest.raises(DamageError):
        tbq.open(f"{web.url}/runs").scalars(on_error="raise")
    with tbq.follow(f"{web.url}/runs", on_error="ignore") as follower:
        assert [each.run for each in follower.poll().problems] == ["b"]
        assert not follower.poll().problems
        web.answer = lambda asked: None
        assert len(follower.poll().table()) == 20


@pytest.mark.parametrize("status", [404, 403, 500])
def test_a_directory_that_cannot_be_listed(status: int, web: Web) -> None:
    bad = f"{web.url}/runs/b"

    def fail(asked: Asked) -> int | None:
        return status if asked.path.rstrip("/").endswith("/b") else None

    with tbq.follow(f"{web.url}/runs", on_error="ignore") as follower:
        assert len(follower.poll().table()) == 60
        web.answer = fail
        update = follower.poll()
        assert [each.path for each in update.problems] == [bad] and not len(update.retracted_rows)
        assert len(follower.table()) == 60
        log = tbq.open(f"{web.url}/runs")
        assert len(log.scalars()) == 40 and [each.path for each in log.problems] == [bad]
        web.answer = lambda asked: None
        web.put(f"runs/b/{NAME}", events(23))
        assert len(follower.poll().table()) == 3


@pytest.mark.parametrize("status", [403, 404, 500])
@pytest.mark.parametrize("before", [b"", events(0)], ids=["empty", "without values"])
def test_a_run_below_another_that_fails_before_its_first_value(before: bytes, status: int, web: Web) -> None:
    """The run may become a sub-run of the run above, so it is read again to find out."""
    path = f"runs/a/below/{NAME}"
    web.put(path, before)
    with tbq.follow(f"{web.url}/runs", on_error="ignore") as follower:
        assert follower.poll().runs.new == ["a", "b", "c"]
        web.put(path, events(5), RECENT + 10)
        web.answer = lambda asked: status if asked.method == "GET" and asked.path == f"/{path}" else None
        update = follower.poll()
        assert [each.path for each in update.problems] == [f"{web.url}/{path}"]
        web.answer = lambda asked: None
        follower.poll()
        assert list(follower.table()["run"]).count("a/below") == 5


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_sub_run_that_fails_while_it_grows(status: int, web: Web) -> None:
    """The sub-run stays part of its run, which gets the new rows once the object can be fetched."""
    path = f"runs/a/1700000000.5/{NAME}"
    start = [
        ef.version(),
        ef.event(ef.summary(*(each.SerializeToString() for each in add_hparams({"lr": 0.1})))),
    ]
    web.put(path, ef.event_file(start))
    with tbq.follow(f"{web.url}/runs", on_error="ignore") as follower:
        assert follower.poll().runs.new == ["a", "b", "c"]
        web.put(path, ef.event_file([*start, ef.scalar("hparam/best", 0, 1.0)]), RECENT + 10)
        web.answer = lambda asked: status if asked.method == "GET" and asked.path == f"/{path}" else None
        update = follower.poll()
        assert [each.path for each in update.problems] == [f"{web.url}/{path}"] and not update.runs.gone
        web.answer = lambda asked: None
        follower.poll()
        assert follower.runs == ["a", "b", "c"]
        assert list(follower.table()["run"]).count("a") == 21


def many(count: int, damaged: bool) -> bytes:
    data = bytearray(events(count))
    if damaged:
        data[5000] ^= 1
    return bytes(data)


@pytest.mark.parametrize("etags", [True, False])
@pytest.mark.parametrize("small", [1 << 20, 0])
def test_an_object_that_was_repaired_further_up_and_grew(
    etags: bool, small: int, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "_SMALL", small)
    web.etags = etags
    for path in list(web.files):
        del web.files[path]
    web.put(f"runs/a/{NAME}", many(2000, damaged=True))
    with tbq.follow(f"{web.url}/runs", on_error="ignore") as follower:
        follower.poll()
        assert len(follower.table()) < 2000
        assert len(tbq.open(f"{web.url}/runs").scalars(on_error="ignore")) < 2000
        web.put(f"runs/a/{NAME}", many(2100, damaged=False), RECENT + 10)
        assert len(tbq.open(f"{web.url}/runs").scalars()) == 2100
        follower.poll()
        assert len(follower.table()) == 2100


@pytest.mark.parametrize("settled", [-1.0, 3600.0])
def test_an_object_of_a_bucket_that_was_changed_further_up_and_grew(
    settled: float, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "_SETTLED", settled)
    old = ef.event_file([ef.version(), *(ef.scalar("loss", i, i) for i in range(2000))])
    new = ef.event_file([ef.version(), *(ef.scalar("loss", i, i + (i == 100)) for i in range(2100))])
    bucket.put(f"runs/a/{NAME}", old)
    with tbq.follow(bucket.url("runs"), on_error="ignore") as follower:
        follower.poll()
        assert len(tbq.open(bucket.url("runs")).scalars()) == 2000
        bucket.put(f"runs/a/{NAME}", new)
        assert tbq.open(bucket.url("runs")).series("loss").values[100] == 101
        follower.poll()
        assert follower.table().to_arrow()["value"][100].as_py() == 101


def test_an_object_that_only_grew_is_not_fetched_again(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = events(3000)
    bucket.put(f"runs/a/{NAME}", data)
    with tbq.follow(bucket.url("runs"), on_error="ignore") as follower:
        follower.poll()
        for count in (3100, 3200):
            bucket.put(f"runs/a/{NAME}", events(count))
            bucket.requests.clear()
            follower.poll()
            assert len(follower.table()) == count
            ranges = [
                each.range for each in bucket.requests if each.method == "GET" and "list" not in each.query
            ]
            assert len(ranges) == 1 and ranges[0].startswith("bytes="), ranges
        tbq.open(bucket.url("runs")).scalars()
        bucket.put(f"runs/a/{NAME}", events(3300))
        bucket.requests.clear()
        assert len(tbq.open(bucket.url("runs")).scalars()) == 3300
        assert [each.range[:6] for each in bucket.requests if "list" not in each.query] == ["bytes="]


def test_a_store_whose_etags_are_not_checksums(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    real = store._object

    def encrypted(meta: Any, key: str) -> Any:
        version = real(meta, key)
        return version._replace(etag=version.etag[::-1])

    monkeypatch.setattr(store, "_object", encrypted)
    monkeypatch.setattr(store, "_is_strong", lambda etag: False)
    for count in (2000, 2100, 2200):
        bucket.put(f"runs/a/{NAME}", events(count))
        assert len(tbq.open(bucket.url("runs")).scalars()) == count
    with tbq.follow(bucket.url("runs"), on_error="ignore") as follower:
        follower.poll()
        bucket.put(f"runs/a/{NAME}", events(2300))
        follower.poll()
        assert len(follower.table()) == 2300


@pytest.mark.parametrize("etags", [True, False])
def test_large_objects_without_proof_are_compared_in_time(
    etags: bool, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing reports that an object changed before its old end: it is noticed once the object stops growing."""
    monkeypatch.setattr(mirror, "_SMALL", 0)
    monkeypatch.setattr(mirror, "_SETTLED", 1e12)
    web.etags = etags
    for path in list(web.files):
        del web.files[path]
    now = time.time() + 100
    old = ef.event_file([ef.version(), *(ef.scalar("loss", i, i) for i in range(2000))])
    new = ef.event_file([ef.version(), *(ef.scalar("loss", i, i + (i == 100)) for i in range(2100))])
    web.put(f"runs/a/{NAME}", old, now)
    with tbq.follow(f"{web.url}/runs", on_error="ignore") as follower:
        follower.poll()
        web.put(f"runs/a/{NAME}", new, now + 10)
        follower.poll()
        assert len(follower.table()) == 2100
        monkeypatch.setattr(mirror, "_QUIET", -1e6)
        follower.poll()
        assert follower.table().to_arrow()["value"][100].as_py() == 101
        web.requests.clear()
        follower.poll()
        assert not [asked for asked in web.requests if asked.method == "GET" and NAME in asked.path]


@pytest.mark.parametrize("settled", [-1.0, 3600.0])
def test_an_object_without_an_etag_that_changes_within_a_second_of_a_slow_fetch(
    settled: float, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object whose version is only a time in seconds may change after its bytes were sent."""
    start, late = time.time(), [0.0]
    monkeypatch.setattr(mirror, "time", SimpleNamespace(time=lambda: start + late[0]))
    monkeypatch.setattr(mirror, "_SETTLED", settled)
    web.etags = False

    def slow(asked: Asked) -> None:
        late[0] += 3.0 if asked.method == "GET" and NAME in asked.path else 0.0

    web.answer = slow
    with tbq.follow(f"{web.url}/runs/a") as follower:
        for value in range(3):
            late[0] = 0.0
            data = ef.event_file([ef.version(), ef.scalar("loss", 1, value)])
            web.put(f"runs/a/{NAME}", data, start)
            follower.poll()
            assert follower.table().to_arrow()["value"].to_pylist() == [value]
            late[0] = 0.0
            assert tbq.open(f"{web.url}/runs/a").scalars().to_arrow()["value"].to_pylist() == [value]


def test_an_object_that_is_replaced_and_put_back(bucket: Bucket, s3_server: S3Server) -> None:
    first, second = events(20), events(15, "other")
    bucket.put(f"runs/a/{NAME}", first)
    swapped: list[bool] = []

    def swap(request: Request) -> None:
        if request.method == "GET" and "list-type" not in request.query and not swapped:
            swapped.append(True)
            bucket.put(f"runs/a/{NAME}", second)

    s3_server.before = swap
    with tbq.follow(bucket.url("runs"), on_error="ignore") as follower:
        follower.poll()
        assert swapped and len(follower.table()) == 15
        bucket.put(f"runs/a/{NAME}", first)
        follower.poll()
        assert {row["tag"] for row in follower.table().to_dicts()} == {"loss"}


def test_a_file_without_an_etag_that_is_replaced_and_put_back(web: Web) -> None:
    """Between the question for its version and that for its bytes."""
    web.etags = False
    path, first = f"runs/a/{NAME}", events(20)
    web.put(path, first)

    def replace(asked: Asked) -> None:
        if asked.method == "GET" and asked.path.endswith(NAME) and web.files[path] == first:
            web.put(path, events(15, "other"), RECENT + 10)

    with tbq.follow(f"{web.url}/runs/a") as follower:
        web.answer = replace
        follower.poll()
        assert follower.table()["tag"].tolist() == ["other"] * 15
        web.answer = lambda asked: None
        web.put(path, first)
        follower.poll()
        assert follower.table()["tag"].tolist() == ["loss"] * 20
        assert tbq.open(f"{web.url}/runs/a").scalars()["tag"].tolist() == ["loss"] * 20


def test_a_version_that_only_a_time_tells_apart(web: Web) -> None:
    """Two versions of one size in one second, from a server that gives no etags."""
    web.etags = False
    now = float(int(time.time()))
    web.put(f"runs/a/{NAME}", events(20), now)
    with tbq.follow(f"{web.url}/runs", on_error="ignore") as follower:
        follower.poll()
        tbq.open(f"{web.url}/runs").scalars()
        changed = ef.event_file([ef.version(), *(ef.scalar("loss", i, 7.0) for i in range(20))])
        web.put(f"runs/a/{NAME}", changed, now)
        follower.poll()
        for table in (follower.table(), tbq.open(f"{web.url}/runs").scalars()):
            assert {row["value"] for row in table.to_dicts() if row["run"] == "a"} == {7.0}


def test_tables_of_one_log_share_the_file_of_a_version_that_may_change(web: Web) -> None:
    """No later table replaces the file from which an earlier one still reads its large values."""
    web.etags = False
    text = ef.event_file([ef.version(), ef.scalar("loss", 1, 1.0), ef.text("note", 2, b"x" * 5000)])
    web.put(f"runs/a/{NAME}", text, time.time())
    log = tbq.open(f"{web.url}/runs")
    texts = log.texts(run="a")
    web.requests.clear()
    assert len(log.scalars(run="a")) == 1 and len(log.histograms(run="a")) == 0
    assert texts.to_dicts()[0]["text"] == "x" * 5000 and not log.problems
    assert not web.requests


def test_many_failing_objects_are_not_a_store_that_fails(bucket: Bucket, s3_server: S3Server) -> None:
    bucket.put_many({f"runs/{run:03}/{NAME}": events(2) for run in range(60)})

    def fail(request: Request) -> tuple[str, bytes] | None:
        *_, run, name = request.path.split("/")
        return ("500 Oops", b"") if name == NAME and int(run) < 40 else None

    s3_server.before = fail
    log = tbq.open(bucket.url("runs"))
    assert len(log.scalars(on_error="ignore")) == 40 and len(log.problems) == 40


NAMES = [f"events.out.tfevents.{number}.host" for number in (9, 10, 100, 2, 11)]


@pytest.mark.parametrize(
    ("restarts", "store_of"),
    [("resume", "bucket"), ("keep", "web"), ("last", "bucket"), ("tensorboard", "bucket"), ("split", "web")],
)
def test_files_are_ordered_by_the_names_of_their_objects(
    restarts: Any, store_of: str, tmp_path: Path, bucket: Bucket, web: Web
) -> None:
    """More than ten files, in another order than that of their names."""
    root = tmp_path / "log"
    names = [f"events.out.tfevents.{number}.h#%?" for number in (9, 10, 100, 2, 11, 1, 30, 3, 20, 21, 22, 4)]
    remote = bucket.url("order") if store_of == "bucket" else f"{web.url}/order"
    live = "keep" if restarts == "split" else restarts
    with tbq.follow(remote, restarts=live, on_error="ignore") as follower:
        follower.poll()
        for number, name in enumerate(names):
            for more, folder in enumerate(("v/version_2", "v/version_10")):  # no file is a copy of another
                rows = [ef.scalar("loss", i, number + 100 * more, 5.0) for i in range(number % 3, 5)]
                data = ef.event_file([ef.version(5.0), *rows])
                path = root / folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                key = f"order/{folder}/{name}"
                bucket.put(key, data) if store_of == "bucket" else web.put(key, data)
            follower.poll()
            here = tbq.open(root).scalars(restarts=live, on_error="ignore")
            assert follower.table().to_dicts() == here.to_dicts()
    for merge in (None, r"re:(.*)/version_\d+"):
        here, there = tbq.open(root, merge_runs=merge), tbq.open(remote, merge_runs=merge)
        assert [os.path.basename(path) for path in here.files] == [
            os.path.basename(path).replace("%23", "#").replace("%25", "%").replace("%3F", "?")
            for path in there.files
        ]
        got = there.scalars(restarts=restarts, on_error="ignore")
        assert got.to_dicts() == here.scalars(restarts=restarts, on_error="ignore").to_dicts()


@pytest.mark.parametrize("status", STATUSES)
def test_a_replaced_object_that_fails_leaves_the_rows_as_they_were(
    status: str, bucket: Bucket, s3_server: S3Server
) -> None:
    bucket.put_many({f"runs/{run}/{NAME}": events(20) for run in "ab"})
    with tbq.follow(bucket.url("runs"), on_error="ignore") as follower:
        follower.poll()
        bucket.put(f"runs/a/{NAME}", events(5, "other"))
        s3_server.before = of_object("a", status)
        update = follower.poll()
        assert [each.run for each in update.problems] == ["a"] and not len(update.retracted_rows)
        assert len(follower.table()) == 40
        s3_server.before = None
        bucket.put(f"runs/a/{NAME}", events(20))
        assert not follower.poll().tables
        assert not follower._unfetchable
        bucket.put(f"runs/a/{NAME}", events(5, "other"))
        follower.poll()
        assert len(follower.table()) == 25


def raw(status: str, body: bytes = b"", **headers: object) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body


def of_a(table: tbq.Table) -> int:
    return table.to_arrow()["run"].to_pylist().count("a")


WHOLE = events(20)
DATE = "Mon, 02 Jan 2023 00:00:00 GMT"
#: What a server claims and sends for its one file, by method; and whether the file can be read.
LIES = {
    "no length for HEAD": (raw("200 OK", Last_Modified=DATE), None, True),
    "no bytes for HEAD": (raw("200 OK", Content_Length=0, Last_Modified=DATE), None, True),
    "another length for HEAD": (raw("200 OK", Content_Length=9_000, Last_Modified=DATE), None, True),
    "another etag for HEAD": (raw("200 OK", Content_Length=len(WHOLE), ETag='W/"a"'), None, True),
    "half of the bytes": (None, raw("200 OK", WHOLE[:400], Content_Length=len(WHOLE)), False),
    "a date that is none": (
        raw("200 OK", Content_Length=len(WHOLE), Last_Modified="soon"),
        raw("200 OK", WHOLE, Content_Length=len(WHOLE), Last_Modified="soon"),
        False,
    ),
    "no length at all": (raw("200 OK"), raw("200 OK", WHOLE), False),
    "no answer": (b"hello", b"hello", False),
}


@pytest.mark.parametrize("storage", [None, {"header.X-Key": "0815"}], ids=["plain", "header"])
@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_says_one_thing_and_sends_another(lie: str, storage: Any, web: Web) -> None:
    head, get, readable = LIES[lie]
    name = f"runs/a/{NAME}"
    web.put(name, WHOLE)
    web.answer = lambda asked: (
        None if NAME not in asked.path or "/a/" not in asked.path else head if asked.method == "HEAD" else get
    )
    log = tbq.open(f"{web.url}/runs", storage=storage)
    assert of_a(log.table("scalars", on_error="ignore")) == (20 if readable else 0)
    assert readable == (not [each for each in log.problems if each.path == f"{web.url}/{name}"])
    with tbq.follow(f"{web.url}/runs", storage=storage, on_error="ignore") as follower:
        for _ in range(2):
            follower.poll()
        assert of_a(follower.table()) == (20 if readable else 0)
        web.answer = lambda asked: None
        follower.poll()
        assert of_a(follower.table()) == 20


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("wrong", ["other bytes", "an early end"])
def test_a_large_file_with_a_header_whose_parts_are_wrong(
    ranges: bool, wrong: str, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tbq.source import fetch

    monkeypatch.setattr(fetch, "PIECE", 1000)
    data = events(200)
    web.put(f"runs/a/{NAME}", data)
    web.ranges = ranges

    def answer(asked: Asked) -> bytes | None:
        if asked.method == "HEAD" or "/a/" not in asked.path or NAME not in asked.path:
            return None
        etag = f'"{hashlib.sha1(data).hexdigest()}"'
        if not ranges:
            return (
                raw("200 OK", data[:5000], Content_Length=len(data), ETag=etag)
                if wrong == "an early end"
                else None
            )
        if asked.headers.get("range") != "bytes=2000-2999":
            return None
        said = "bytes 1000-1999" if wrong == "other bytes" else "bytes 2000-2999"
        body = data[1000:2000] if wrong == "other bytes" else data[2000:2500]
        return raw("206 Part", body, Content_Length=1000, ETag=etag, Content_Range=f"{said}/{len(data)}")

    web.answer = answer
    storage = {"header.X-Key": "0815"}
    log = tbq.open(f"{web.url}/runs", storage=storage)
    rows = of_a(log.table("scalars", on_error="ignore"))
    damaged = [each.code for each in log.problems if each.path and "/a/" in each.path]
    assert (rows, damaged) == ((200, []) if not ranges and wrong == "other bytes" else (0, ["unreadable"]))
    web.answer = lambda asked: None
    assert len(tbq.open(f"{web.url}/runs/a", storage=storage).scalars()) == 200


@pytest.mark.parametrize("run", ["301", "401", "403"])
def test_numbers_in_names_are_not_those_of_answers(run: str, bucket: Bucket, s3_server: S3Server) -> None:
    bucket.put(f"runs/{run}/{NAME}", events(2))
    s3_server.before = lambda request: None if "list-type" in request.query else ("500 Oops", run.encode())
    with pytest.raises(SourceError, match="500") as raised:
        tbq.open(bucket.url("runs")).scalars()
    assert raised.value.code == "remote"
