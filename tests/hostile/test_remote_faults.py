"""Stores that fail, objects that change while they are read, processes that die, caches that are too small."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from buckets import Bucket, Request, S3Server, web_server

import tbq
from tbq.errors import SourceError, UsageError
from tbq.lake.location import location_of
from tbq.source import store

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")

NAME = "events.out.tfevents.1.host"
SCALARS = "import sys, tbq; print(len(tbq.open(sys.argv[1]).scalars()))"


def events(count: int, start: int = 0) -> bytes:
    head = [ef.version()] if start == 0 else []
    return ef.event_file([*head, *(ef.scalar("loss", i, i) for i in range(start, start + count))])


def fill(bucket: Bucket, runs: int, count: int = 20) -> None:
    bucket.put_many({f"runs/{i:03}/{NAME}": events(count) for i in range(runs)})


def copies(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache/objects").rglob("*.events"))


def test_an_object_that_is_deleted_after_the_listing(bucket: Bucket) -> None:
    fill(bucket, 3)
    log = tbq.open(bucket.url("runs"))
    bucket.delete(f"runs/001/{NAME}")
    assert len(log.scalars()) == 40
    assert [(problem.code, problem.path) for problem in log.problems] == [
        ("unreadable", bucket.url(f"runs/001/{NAME}"))
    ]
    assert log.problems[0].message == "was deleted while it was read"
    bucket.put(f"alone/{NAME}", events(3))
    only = tbq.open(bucket.url("alone"))
    bucket.delete(f"alone/{NAME}")
    with pytest.raises(SourceError, match="was deleted while it was read"):
        only.scalars()


def test_an_object_that_is_replaced_after_the_listing(bucket: Bucket) -> None:
    fill(bucket, 2)
    log = tbq.open(bucket.url("runs"))
    bucket.put(f"runs/001/{NAME}", events(7))
    assert len(log.scalars()) == 27
    assert len(log.scalars()) == 27 and not log.problems


def test_an_object_that_is_replaced_while_its_pieces_are_read(
    bucket: Bucket, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file never mixes two versions."""
    from tbq.source import fetch

    monkeypatch.setattr(fetch, "PIECE", 200)
    fill(bucket, 1, count=100)
    changes = iter(range(2))

    def replace(request: Request) -> None:
        if request.range.startswith("bytes=1000-") and next(changes, None) is not None:
            bucket.put(
                f"runs/000/{NAME}",
                ef.event_file([ef.version(), *(ef.scalar("new", i, i) for i in range(90))]),
            )

    log = tbq.open(bucket.url("runs"))
    s3_server.before = replace
    table = log.scalars()
    assert set(table["tag"].tolist()) == {"new"} and len(table) == 90 and not log.problems


def test_an_object_that_changes_all_the_time(bucket: Bucket, s3_server: S3Server) -> None:
    fill(bucket, 2)
    log = tbq.open(bucket.url("runs"))
    sizes = iter(range(1, 1000))

    def change(request: Request) -> None:
        if "/000/" in request.path and request.method == "GET":
            bucket.put(f"runs/000/{NAME}", events(next(sizes)))

    s3_server.before = change
    assert len(log.scalars()) == 20
    assert [problem.message for problem in log.problems] == ["changes faster than it can be read"]


def test_what_was_added_is_fetched_from_the_old_end(bucket: Bucket, tmp_path: Path) -> None:
    key = f"runs/a/{NAME}"
    data = events(1000)
    bucket.put(key, data)
    assert len(tbq.open(bucket.url("runs")).scalars()) == 1000
    more = data + events(10, start=1000)
    bucket.put(key, more)
    bucket.requests.clear()
    assert len(tbq.open(bucket.url("runs")).scalars()) == 1010
    start = len(data) - (16 << 10)
    assert [request.range for request in bucket.requests if request.range] == [
        f"bytes={start}-{len(more) - 1}"
    ]
    assert bucket.count() == {"list": 1, "get": 1}
    assert len(copies(tmp_path)) == 1  # the old version went
    other = bytearray(more + events(5, start=1010))
    other[len(more) - 100] ^= 1  # not the same object any more
    bucket.put(key, bytes(other))
    bucket.requests.clear()
    log = tbq.open(bucket.url("runs"))
    log.scalars()
    assert log.problems  # the bit is seen
    assert bucket.count() == {"list": 1, "get": 2}


def test_a_follower_fetches_what_was_added(bucket: Bucket) -> None:
    key = f"runs/a/{NAME}"
    data = events(1000)
    bucket.put(key, data)
    bucket.put(f"runs/b/{NAME}", data)
    with tbq.follow(bucket.url("runs")) as follower:
        assert len(follower.poll().table("scalars")) == 2000
        bucket.requests.clear()
        data += events(10, start=1000)
        bucket.put(key, data)
        update = follower.poll()
        assert len(update.table("scalars")) == 10 and update.runs.grown == ["a"]
        assert bucket.count() == {"list": 1, "get": 1}
        bucket.put(key, events(3))
        update = follower.poll()
        assert update.runs.replaced == ["a"] and update.retracted["count"].tolist() == [1010]
        bucket.delete(key)
        assert follower.poll().runs.gone == ["a"]
        assert len(follower.table("scalars")) == 1000


def test_a_follower_sits_out_a_failure(
    bucket: Bucket, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tbq.source import store

    monkeypatch.setattr(store, "_retries", lambda patient: {"max_retries": 0})
    store._connect.cache_clear()
    fill(bucket, 2)
    with tbq.follow(bucket.url("runs"), on_error="ignore") as follower:
        assert len(follower.poll().table("scalars")) == 40
        bucket.put(f"runs/000/{NAME}", events(25))
        s3_server.before = lambda request: ("503 Slow Down", b"")
        update = follower.poll()
        assert not update.tables and [problem.code for problem in update.problems] == ["discovery"]
        s3_server.before = lambda request: None if "list-type" in request.query else ("503 Slow Down", b"")
        update = follower.poll()
        assert not update.tables and [problem.code for problem in update.problems] == ["unreadable"]
        assert len(follower.table("scalars")) == 40
        s3_server.before = None
        assert len(follower.poll().table("scalars")) == 5
    store._connect.cache_clear()


def test_requests_that_fail_are_sent_again(bucket: Bucket, s3_server: S3Server) -> None:
    fill(bucket, 5)
    failures = iter([True, False, True, True, False, True, False, False, True])
    s3_server.before = lambda request: ("500 Oops", b"") if next(failures, False) else None
    assert len(tbq.open(bucket.url("runs")).scalars()) == 100


@pytest.mark.long
def test_a_store_that_stops_answering(
    bucket: Bucket, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is not tried object by object."""
    from tbq.source import store

    monkeypatch.setattr(store, "_retries", lambda patient: {"max_retries": 0})
    store._connect.cache_clear()
    fill(bucket, 200)
    answered = iter(range(5))
    log = tbq.open(bucket.url("runs"))
    bucket.requests.clear()
    s3_server.before = lambda request: None if next(answered, None) is not None else ("503 Slow Down", b"")
    with pytest.raises(SourceError) as raised:
        log.scalars()
    assert raised.value.code == "remote"
    assert len(bucket.requests) < 150
    s3_server.before = None
    assert len(log.scalars()) == 4000
    store._connect.cache_clear()


@pytest.mark.long
def test_two_processes_share_a_cache(bucket: Bucket, tmp_path: Path) -> None:
    fill(bucket, 40)
    command = [sys.executable, "-c", SCALARS, bucket.url("runs")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=120)[0].strip() for process in processes] == ["800"] * 3
    assert len(copies(tmp_path)) == 40
    bucket.requests.clear()
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "800"
    assert bucket.count() == {"list": 1}


def test_a_cache_that_is_smaller_than_the_data(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(bucket, 40)
    size = len(events(20))
    monkeypatch.setenv("TBQ_CACHE_SIZE", str(10 * size))
    log = tbq.open(bucket.url("runs"))
    assert len(log.scalars()) == 800
    assert len(copies(tmp_path)) <= 10
    assert sum(batch.num_rows for batch in log.scan()) == 800
    assert len(log.scalars(run="00*")) == 200
    held = list((tmp_path / "cache").glob("files*/*.events"))
    assert len(held) <= 20  # what was read before went to make room
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCALARS, bucket.url("runs")], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [process.communicate(timeout=120)[0].strip() for process in processes] == ["800"] * 3
    assert len(copies(tmp_path)) <= 10


def test_large_values_whose_files_made_room_are_fetched_again(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in "ab":
        image = ef.event_file([ef.version(), ef.image("pic", 1, b"\x89PNG" + run.encode() * 9000)])
        bucket.put(f"runs/{run}/{NAME}", image)
    monkeypatch.setenv("TBQ_CACHE_SIZE", "100")
    log = tbq.open(bucket.url("runs"))
    from tbq.kinds.values import locate

    values = locate(log._reader, "images", run="a")
    log.scalars(run="b")
    data = values.arrow()["data"].to_pylist()
    assert data == [b"\x89PNG" + b"a" * 9000]
    assert {problem.code for problem in log.problems} == {"bad_image"}


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("after", [1, 7, 20])
def test_a_process_that_is_killed_while_it_fetches(
    after: int, bucket: Bucket, s3_server: S3Server, tmp_path: Path
) -> None:
    fill(bucket, 40)
    seen: list[Request] = []
    process: list[subprocess.Popen[Any]] = []

    def kill(request: Request) -> None:
        if request.method == "GET" and "list-type" not in request.query:
            seen.append(request)
            if len(seen) == after:
                os.kill(process[0].pid, signal.SIGKILL)

    s3_server.before = kill
    process.append(subprocess.Popen([sys.executable, "-c", SCALARS, bucket.url("runs")]))
    assert process[0].wait(120) == -signal.SIGKILL
    s3_server.before = None
    there = len(copies(tmp_path))
    bucket.requests.clear()
    done = subprocess.run(
        [sys.executable, "-c", SCALARS, bucket.url("runs")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "800"
    # Requests of the dead process may reach the server late; they are for objects that have no copy either.
    fetched = {request.path for request in bucket.requests if "list-type" not in request.query}
    assert len(fetched) == 40 - there
    assert [entry.name for entry in (tmp_path / "cache").iterdir()] == [
        "objects"
    ]  # the dead process left nothing


def test_a_damaged_copy_is_fetched_again(bucket: Bucket, tmp_path: Path) -> None:
    fill(bucket, 1)
    assert len(tbq.open(bucket.url("runs")).scalars()) == 20
    os.truncate(copies(tmp_path)[0], 50)
    assert len(tbq.open(bucket.url("runs")).scalars()) == 20


def test_a_cache_that_cannot_be_made(bucket: Bucket, tmp_path: Path) -> None:
    fill(bucket, 1)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SourceError, match="the cache of remote objects cannot be created") as raised:
        tbq.open(bucket.url("runs"), cache=tmp_path / "file").scalars()
    assert raised.value.hint is not None and "--cache" in raised.value.hint


def test_a_cache_that_is_a_url(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would become a local folder, whose name has the password."""
    fill(bucket, 1)
    monkeypatch.chdir(tmp_path)
    for cache in ("http://me:hunter2@host/cache", "s3://bucket/cache"):
        with pytest.raises(UsageError, match="is a URL") as raised:
            tbq.open(bucket.url("runs"), cache=cache)
        assert "hunter2" not in str(raised.value)
    assert not list(tmp_path.glob("*:"))


def test_progress_in_bytes(bucket: Bucket) -> None:
    fill(bucket, 8)
    calls: list[tuple[int, int, int, int]] = []
    tbq.open(bucket.url("runs")).scalars(progress=lambda *numbers: calls.append(numbers))
    size = len(events(20))
    assert (8 * size, 8 * size, 8, 8) in calls
    assert [call[2] for call in calls[:8]] == list(range(1, 9))


def test_odd_names_of_objects(bucket: Bucket) -> None:
    fill(bucket, 1)
    bucket.put(f"runs//{NAME}", events(1))
    with pytest.raises(SourceError, match="has a name that is not a path"):
        tbq.open(bucket.url("runs"))


def test_odd_names_on_a_web_server(tmp_path: Path) -> None:
    """Characters with a meaning in URLs: each run is found, and read from its own file."""
    names = ["a b", "p%20q", "p q", "%", "%2F", "h#x", "q?m", "x*y", "a&amp;b", "ü☃", "a+b", "k=v"]
    if os.name == "nt":
        names = [name for name in names if not set(name) & set("?*")]
    for number, name in enumerate(names):
        path = tmp_path / "logs" / name
        path.mkdir(parents=True)
        (path / "events.out.tfevents.1.h").write_bytes(
            ef.event_file([ef.version(1.0), ef.scalar("loss", number, 0.5, 2.0)])
        )
    with web_server(tmp_path) as (url, _):
        log = tbq.open(f"{url}/logs")
        assert {row["run"]: row["step"] for row in log.scalars().to_dicts()} == {
            name: number for number, name in enumerate(names)
        }
        one = tbq.open(f"{url}/logs/p%2520q")
        assert one.scalars().to_dicts()[0]["step"] == names.index("p%20q")


def test_a_listing_with_control_characters(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<a href="a%0Ab/">x</a>')
    with web_server(tmp_path) as (url, _), pytest.raises(SourceError, match="not a path"):
        tbq.open(url)


def listing(runs: Iterable[str], token: str = "") -> bytes:
    """A page of a listing, with a file of each run; with a token, it says that more follow."""
    about = "<LastModified>2023-01-01T00:00:00.000Z</LastModified><Size>9</Size>"
    listed = "".join(f"<Contents><Key>{run}/{NAME}</Key>{about}</Contents>" for run in runs)
    more = str(bool(token)).lower()
    return f"<ListBucketResult><IsTruncated>{more}</IsTruncated>{token}{listed}</ListBucketResult>".encode()


@pytest.mark.parametrize("ask", [tbq.open, lambda url: location_of(url).entries("")], ids=["a log", "a lake"])
def test_a_store_that_lists_the_same_page_for_ever(
    ask: Callable[[str], object], bucket: Bucket, s3_server: S3Server
) -> None:
    page = listing(
        (f"runs/{i}" for i in range(store.PAGE)), "<NextContinuationToken>x</NextContinuationToken>"
    )
    asked = itertools.count()

    def answer(request: Request) -> tuple[str, bytes] | None:
        listing = "list-type" in request.query
        return ("200 OK" if next(asked) < 9 else "500 Oops", page) if listing else None

    s3_server.before = answer
    with pytest.raises(SourceError, match="over and over"):
        ask(bucket.url("runs"))


def test_a_store_that_lists_what_was_not_asked_for(bucket: Bucket, s3_server: S3Server) -> None:
    for key in ("runs/a", "other/b", "runsb/c"):
        bucket.put(f"{key}/{NAME}", events(2))
    page = listing(("runs/a", "other/b", "runsb/c"))
    s3_server.before = lambda request: ("200 OK", page) if "list-type" in request.query else None
    assert tbq.open(bucket.url("runs")).runs == ["a"]
