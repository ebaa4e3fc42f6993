"""gs:// by the protocol of Google Cloud Storage: a log directory, an export and a lake in a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import eventfile as ef
import polars as pl
import pytest

import tbq
import tbq.lake
from tbq.errors import TbqError

if TYPE_CHECKING:
    from buckets import Bucket

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


def scalars(steps: range) -> bytes:
    return b"".join(ef.record(ef.scalar("loss", step, step / 2, 100.0 + step)) for step in steps)


@pytest.fixture
def logs(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in bucket.storage:  # nothing of S3 is of use
        monkeypatch.delenv(name.upper())
    for run in ("a", "b"):
        data = ef.record(ef.version(99.0)) + scalars(range(10))
        bucket.put(f"runs/{run}/events.out.tfevents.1.h", data)
    return f"gs://{bucket.name}"


def test_a_log_directory_that_grows(bucket: Bucket, logs: str) -> None:
    log = tbq.open(f"{logs}/runs", storage=bucket.google)
    assert log.runs == ["a", "b"] and len(log.scalars()) == 20
    bucket.put("runs/a/events.out.tfevents.1.h", ef.record(ef.version(99.0)) + scalars(range(15)))
    bucket.requests.clear()
    assert len(tbq.open(f"{logs}/runs", storage=bucket.google).scalars()) == 25
    fetched = [
        request for request in bucket.requests if "tfevents" in request.path and request.method == "GET"
    ]
    assert [request.path.rpartition("/runs/")[2][0] for request in fetched] == ["a"] * len(fetched)
    with tbq.follow(f"{logs}/runs", storage=bucket.google, from_start=True) as follower:
        assert len(follower.poll().table("scalars")) == 25


def test_an_export(bucket: Bucket, logs: str) -> None:
    table = tbq.open(f"{logs}/runs", storage=bucket.google).scalars()
    with tbq.storage.using(storage=bucket.google):
        table.write(f"{logs}/out.parquet")
        with pytest.raises(TbqError, match="already exists"):
            table.write(f"{logs}/out.parquet")
    assert bucket.get("out.parquet")[:4] == b"PAR1"


@pytest.mark.long
def test_a_lake(bucket: Bucket, logs: str) -> None:
    log, lake, storage = f"{logs}/runs", f"{logs}/lake", bucket.google
    assert tbq.lake.sync(log, lake, storage=storage).added == 2
    bucket.put("runs/a/events.out.tfevents.1.h", ef.record(ef.version(99.0)) + scalars(range(15)))
    assert tbq.lake.sync(log, lake, storage=storage).grown == 1
    assert not tbq.lake.sync(log, lake, storage=storage)
    ours, theirs = (tbq.open(each, storage=storage).scalars().to_dicts() for each in (lake, log))
    assert ours == theirs and len(ours) == 25
    options = {**storage, "allow_http": "true"}
    assert pl.scan_delta(f"{lake}/scalars", storage_options=options).collect().height == 25


def test_no_bucket(bucket: Bucket, logs: str) -> None:
    with pytest.raises(TbqError, match="bucket"):
        tbq.open("gs://nobody-has-this/runs", storage=bucket.google)
