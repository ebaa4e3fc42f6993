"""A lake in an object store, of a log in an object store: with a real S3 server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import eventfile as ef
import polars as pl
import pytest

import tbq
import tbq.lake
from tbq.errors import SourceError, TbqError, UsageError
from tbq.lake.layout import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from buckets import Bucket

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


def scalars(steps: range, wall: float = 100.0) -> bytes:
    return b"".join(ef.record(ef.scalar("loss", step, step / 2, wall + step)) for step in steps)


def assert_same(log: str, lake: str) -> None:
    ours, theirs = tbq.lake.open(lake), tbq.open(log)
    for kind in TABLES:
        if kind == "problems":
            continue
        found, want = ours.table(kind).to_arrow(), theirs.table(kind).to_arrow()
        assert found.to_pylist() == want.to_pylist(), kind
    assert [row["code"] for row in ours.table("problems").to_dicts()] == [
        row["code"] for row in tbq.open(log).table("problems").to_dicts()
    ]


@pytest.mark.long
def test_a_lake_of_a_bucket(bucket: Bucket) -> None:
    log, lake = bucket.url("runs"), bucket.url("lake")
    begin = ef.record(ef.version(99.0))
    for run in ("a", "b", "c"):
        bucket.put(f"runs/{run}/events.out.tfevents.1.h", begin + scalars(range(10)))
    done = tbq.lake.sync(log, lake)
    assert (done.added, done.rows) == (3, 30)
    assert_same(log, lake)
    assert tbq.open(lake).runs == ["a", "b", "c"]  # tbq.open knows it too
    assert not tbq.lake.sync(log, lake)
    bucket.put("runs/a/events.out.tfevents.1.h", begin + scalars(range(15)))
    bucket.put("runs/b/events.out.tfevents.2.h", ef.record(ef.version(500.0)) + scalars(range(5, 7), 500.0))
    bucket.client.delete_object(Bucket=bucket.name, Key="runs/c/events.out.tfevents.1.h")
    done = tbq.lake.sync(log, lake)
    assert (done.grown, done.replaced, done.gone) == (1, 1, 1)
    assert_same(log, lake)
    bucket.put("runs/a/events.out.tfevents.1.h", ef.record(ef.version(98.0)) + scalars(range(30)))
    done = tbq.lake.sync(log, lake)
    assert (done.grown, done.replaced) == (0, 1)
    assert_same(log, lake)


def test_what_needs_event_files_says_so(bucket: Bucket, tmp_path: Path) -> None:
    """Immediately, instead of waiting forever for new rows of a lake."""
    log, lake = bucket.url("runs"), bucket.url("lake")
    bucket.put("runs/a/events.out.tfevents.1.h", ef.record(ef.version(99.0)) + scalars(range(10)))
    tbq.lake.sync(log, lake)
    for use in (
        lambda: tbq.follow(lake).poll(),
        lambda: tbq.doctor(lake),
        lambda: tbq.rewrite(lake, tmp_path / "out"),
        lambda: tbq.lake.sync(lake, bucket.url("other")),
    ):
        with pytest.raises(UsageError, match="is a lake") as wrong:
            use()
        assert log in str(wrong.value)


def test_nothing_new_reads_no_event_file(bucket: Bucket) -> None:
    log, lake = bucket.url("runs"), bucket.url("lake")
    bucket.put("runs/a/events.out.tfevents.1.h", ef.record(ef.version(99.0)) + scalars(range(10)))
    tbq.lake.sync(log, lake)
    before = len(bucket.requests)
    assert not tbq.lake.sync(log, lake)
    asked = bucket.requests[before:]
    assert not [request for request in asked if "tfevents" in request.path]
    assert not [request for request in asked if request.method in ("PUT", "POST", "DELETE")]


def test_others_read_it(bucket: Bucket) -> None:
    bucket.put("runs/a/events.out.tfevents.1.h", ef.record(ef.version(99.0)) + scalars(range(10)))
    tbq.lake.sync(bucket.url("runs"), bucket.url("lake"))
    options = {**bucket.storage, "allow_http": "true"}
    rows = pl.scan_delta(bucket.url("lake/scalars"), storage_options=options).collect()
    assert rows["value"].sum() == sum(step / 2 for step in range(10))


def test_no_bucket(bucket: Bucket) -> None:
    bucket.put("runs/a/events.out.tfevents.1.h", ef.record(ef.version(99.0)) + scalars(range(10)))
    with pytest.raises(TbqError, match="bucket"):
        tbq.lake.sync(bucket.url("runs"), "s3://absent-bucket/lake")
    with pytest.raises(TbqError, match="cannot write to a web server"):
        tbq.lake.sync(bucket.url("runs"), "http://localhost:1/lake")


@pytest.mark.parametrize("name", ["a%20b", "a%2Fb", "%C3%BC", "a?b", "a#b", "a//b", "a/../b", "a\tb"])
def test_a_prefix_that_deltalake_takes_for_another(bucket: Bucket, name: str) -> None:
    bucket.put("runs/a/events.out.tfevents.1.h", ef.record(ef.version(99.0)) + scalars(range(5)))
    lake = bucket.url(f"{name}/lake")
    for use in (lambda: tbq.lake.sync(bucket.url("runs"), lake), lambda: tbq.lake.open(lake)):
        with pytest.raises(UsageError, match="cannot be a lake") as caught:
            use()
        assert "name a folder without" in str(caught.value.hint)
    assert bucket.names() == ["runs/a/events.out.tfevents.1.h"]  # nothing was written, here or elsewhere
    bucket.put("b%20c/a/events.out.tfevents.1.h", ef.record(ef.version(99.0)) + scalars(range(5)))
    assert len(tbq.open(bucket.url("b%20c")).scalars()) == 5  # a log may be called so
    with pytest.raises(SourceError):  # nothing is there
        tbq.open(lake)


@pytest.mark.long
@pytest.mark.parametrize("name", ["a b", "100%", "ü", "a+b", "a=b&c", "a\\b", "a*b", "😀", "a:b", "'"])
def test_a_prefix_of_odd_characters(bucket: Bucket, name: str) -> None:
    bucket.put("runs/a/events.out.tfevents.1.h", ef.record(ef.version(99.0)) + scalars(range(5)))
    lake = bucket.url(f"{name}/lake")
    tbq.lake.sync(bucket.url("runs"), lake)
    assert_same(bucket.url("runs"), lake)
    assert {key.split("/")[0] for key in bucket.names()} == {"runs", name}
