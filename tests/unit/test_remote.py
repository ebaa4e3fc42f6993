"""Logs in object stores and on web servers: the same tables as from a directory, few requests, clear messages."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import eventfile as ef
import logs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from buckets import Bucket, S3Server, web_server
from webserver import scripted

import tbq
from tbq.errors import OutputError, SourceError, TbqError, UsageError, install_command
from tbq.schema import KINDS

pytestmark = pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")


def rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a table, NaN as text so that it equals itself."""
    listed: list[dict[str, Any]] = table.to_arrow().to_pylist()
    return [
        {
            name: "nan" if isinstance(value, float) and math.isnan(value) else value
            for name, value in row.items()
        }
        for row in listed
    ]


def run_cli(*args: object, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tbq", *map(str, args)],
        capture_output=True, encoding="utf-8", timeout=120, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "media"])
def test_every_table_is_that_of_the_directory(kind: str, bucket: Bucket, runs: Path) -> None:
    bucket.upload(runs, "team/runs")
    remote, local = tbq.open(bucket.url("team/runs")), tbq.open(runs)
    assert remote.runs == local.runs
    there = rows(remote.table(kind))
    here = rows(local.table(kind))
    for row in here:
        if "path" in row and row["path"] is not None:
            row["path"] = row["path"].replace(str(runs), bucket.url("team/runs"))
    assert there == here


def test_requests(bucket: Bucket, runs: Path) -> None:
    bucket.upload(runs, "runs")
    files = len(tbq.open(runs).files)
    bucket.requests.clear()
    log = tbq.open(bucket.url("runs"))
    assert bucket.count() == {"list": 1}
    log.scalars()
    assert bucket.count() == {"get": files}
    log.tables()
    log.table("projector")
    assert bucket.count() == {}
    tbq.open(bucket.url("runs")).scalars()
    assert bucket.count() == {"list": 1}  # everything is in the cache


def test_only_the_runs_that_are_asked_for_are_fetched(bucket: Bucket, runs: Path) -> None:
    bucket.upload(runs, "runs")
    log = tbq.open(bucket.url("runs"))
    bucket.requests.clear()
    log.scalars(run="diverged")
    assert bucket.count() == {"get": 1}


def test_a_listing_of_several_pages(bucket: Bucket) -> None:
    data = ef.event_file([ef.version(), ef.scalar("loss", 1, 0.5)])
    bucket.put_many({f"runs/{i:04}/events.out.tfevents.1.host": data for i in range(1003)})
    bucket.requests.clear()
    log = tbq.open(bucket.url("runs"))
    assert len(log.runs) == 1003
    assert bucket.count() == {"list": 2}
    with tbq.follow(bucket.url("runs"), run="100*") as follower:
        assert len(follower.poll().table("scalars")) == 3
        assert bucket.count() == {"list": 2, "get": 3}
        for _ in range(3):
            assert not follower.poll()
        assert bucket.count() == {"list": 6}


def test_names(bucket: Bucket, tmp_path: Path) -> None:
    logs.write(tmp_path / "a", {"lr=0.1/seed=0": {"x": [(1, 1)]}, "lr=0.1/ü [1] #2?": {"x": [(1, 2)]}})
    bucket.upload(tmp_path / "a", "a")
    bucket.upload(tmp_path / "a", "deep/er")
    url = bucket.url
    assert tbq.open(url("a")).runs == tbq.open(tmp_path / "a").runs
    assert tbq.open(url("a") + "/").runs == tbq.open(url("a")).runs
    assert tbq.open(f"mine:{url('a/lr=0.1/seed=0')}").runs == ["mine"]
    assert tbq.open({"mine": url("a/lr=0.1/seed=0")}).runs == ["mine"]
    assert tbq.open([url("a/lr=0.1/seed=0"), url("deep")]).runs == [
        "a/lr=0.1/seed=0", "deep/er/lr=0.1/seed=0", "deep/er/lr=0.1/ü [1] #2?",
    ]  # fmt: skip
    assert tbq.open(url("*/lr=0.1/seed=?")).runs == ["."]
    assert tbq.open(url("**/seed=[0-9]")).runs == ["a/lr=0.1/seed=0", "deep/er/lr=0.1/seed=0"]
    assert tbq.open(url("a/lr=0.1/ü [1] #2?")).scalars()["value"].tolist() == [2]
    assert len(tbq.open([url("a"), url("a/lr=0.1")]).files) == 2  # each directory once
    file = tbq.open(url("a/lr=0.1/seed=0")).files[0]
    assert file == url("a/lr=0.1/seed=0/events.out.tfevents.1.host")
    assert tbq.open(file).runs == ["."]
    assert tbq.open(Path(url("a"))).runs == tbq.open(url("a")).runs  # pathlib takes a slash away
    merged = tbq.open(url("a"), merge_runs="re:(.*?)/.*")
    assert merged.runs == ["lr=0.1"] and len(merged.scalars()) == 2
    with pytest.raises(UsageError, match="different stores"):
        tbq.open([url("a"), str(tmp_path / "a")])
    mixed = tbq.open([f"there:{url('a')}", f"here:{tmp_path / 'a'}"])
    assert len(mixed.runs) == 4 and len(mixed.scalars()) == 4


def test_problems_name_the_url(bucket: Bucket) -> None:
    data = bytearray(ef.event_file([ef.version(), *(ef.scalar("loss", i, i) for i in range(50))]))
    data[1000] ^= 255
    bucket.put("runs/a/events.out.tfevents.1.host", bytes(data))
    bucket.put("runs/b/events.out.tfevents.1.host", b"x" * 100)
    log = tbq.open(bucket.url("runs"))
    log.scalars()
    assert {problem.path for problem in log.problems} == {
        bucket.url("runs/a/events.out.tfevents.1.host"), bucket.url("runs/b/events.out.tfevents.1.host"),
    }  # fmt: skip
    with pytest.raises(TbqError) as raised:
        log.scalars(on_error="raise")
    assert raised.value.path is not None and raised.value.path.startswith(bucket.url("runs/"))
    findings = tbq.doctor(bucket.url("runs"))
    assert {finding.path for finding in findings if finding.path} <= {
        problem.path for problem in log.problems
    }
    assert "cache" not in findings.report("x", every=True)


def test_a_cut_off_object_is_not_one_that_is_being_written(bucket: Bucket, s3_server: S3Server) -> None:
    """The object's time counts, not that of its copy."""
    data = ef.event_file([ef.version(), ef.scalar("loss", 1, 1), ef.scalar("loss", 2, 2)])
    bucket.put("runs/events.out.tfevents.1.host", data[:-5])
    log = tbq.open(bucket.url("runs"))
    log.scalars()
    assert [problem.severity for problem in log.problems] == ["info"]  # it was written a moment ago
    _age(s3_server, bucket, 86_400)
    os.environ["TBQ_CACHE"] += "-2"
    log = tbq.open(bucket.url("runs"))
    log.scalars()
    assert [problem.severity for problem in log.problems] == ["error"]


def _age(server: S3Server, bucket: Bucket, seconds: float) -> None:
    """Make the objects of a bucket older."""
    import datetime

    from moto.s3.models import s3_backends

    for backend in s3_backends.values():
        for region in backend.values():
            for key in region.buckets[bucket.name].keys.values() if bucket.name in region.buckets else ():
                key.last_modified -= datetime.timedelta(seconds=seconds)


def test_compressed_objects(bucket: Bucket) -> None:
    import gzip

    data = ef.event_file([ef.version(), ef.scalar("loss", 1, 0.5)])
    bucket.put("runs/events.out.tfevents.1.host.gz", gzip.compress(data))
    assert tbq.open(bucket.url("runs")).scalars()["value"].tolist() == [0.5]


def test_pickled(bucket: Bucket, runs: Path) -> None:
    bucket.upload(runs, "runs")
    log = tbq.open(bucket.url("runs"), storage=bucket.storage)
    again = pickle.loads(pickle.dumps(log))
    assert rows(again.scalars()) == rows(log.scalars())
    assert again.files == log.files


def test_storage_options(bucket: Bucket, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.upload(runs, "runs")
    for name in bucket.storage:
        monkeypatch.delenv(name.upper())
    with pytest.raises(SourceError) as raised:
        tbq.open(bucket.url("runs"))
    assert raised.value.code == "remote" and raised.value.path == bucket.url("runs")
    assert len(tbq.open(bucket.url("runs"), storage=bucket.storage).runs) == 9
    assert tbq.doctor(bucket.url("runs"), storage=bucket.storage, select="TBQ5")
    options = [f"--storage={key}={value}" for key, value in bucket.storage.items()]
    done = run_cli("ls", bucket.url("runs"), *options)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 10
    for wrong in ("text", {"a": None}, {1: "a"}):
        with pytest.raises(UsageError, match="storage"):
            tbq.open(bucket.url("runs"), storage=wrong)  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="nonsense"):
        tbq.open(bucket.url("runs"), storage={**bucket.storage, "nonsense": 1})
    assert run_cli("ls", bucket.url("runs"), "--storage", "x").returncode == 2


@pytest.mark.long
def test_commands(bucket: Bucket, runs: Path, tmp_path: Path) -> None:
    bucket.upload(runs, "runs")
    url = bucket.url("runs")
    cache = tmp_path / "another"
    for args in (
        ("ls", "LOG"),
        ("tags", "LOG"),
        ("summary", "LOG"),
        ("export", "LOG", "--kind", "histograms", "--format", "jsonl"),
        ("show", "LOG", "notes"),
        ("sql", "LOG", "select count(*) from scalars"),
        ("reduce", "LOG", "--tag", "lr"),
        ("compare", "LOG", "diverged", "resumed"),
        ("doctor", "LOG", "--json"),
        ("rewrite", "LOG", "-o", "OUT", "--dry-run"),
        ("follow", "LOG", "--from", "start", "--timeout", "0.2"),
    ):
        there = run_cli(*(url if arg == "LOG" else str(tmp_path / arg) if arg == "OUT" else arg for arg in args),
                        "--cache", cache)  # fmt: skip
        here = run_cli(
            *(runs if arg == "LOG" else str(tmp_path / arg) if arg == "OUT" else arg for arg in args)
        )
        assert there.returncode == here.returncode, there.stderr
        assert there.stdout.replace(url, str(runs)) == here.stdout, args
    assert cache.is_dir() and not (tmp_path / "cache").exists()
    done = run_cli("rewrite", url, "-o", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert rows(tbq.open(tmp_path / "new").scalars(restarts="keep")) == rows(
        tbq.open(runs).scalars(restarts="keep")
    )


def test_nothing_is_left_in_the_cache_but_copies(bucket: Bucket, runs: Path, tmp_path: Path) -> None:
    bucket.upload(runs, "runs")
    assert run_cli("ls", bucket.url("runs")).returncode == 0
    assert [entry.name for entry in (tmp_path / "cache").iterdir()] == ["objects"]
    assert len(list((tmp_path / "cache/objects").rglob("*.events"))) == 10


@pytest.mark.long
def test_clear_words(bucket: Bucket, runs: Path) -> None:
    bucket.upload(runs, "runs")
    bucket.put("wandb/run-a/run-a.wandb", b":W&B")
    cases = {
        bucket.url("wandb"): ("logs of other trackers are read from this machine only: copy them", {}),
        bucket.url("runz"): (f"nothing is here\n  closest: {bucket.url('runs')}", {}),
        bucket.url("no*"): ("no directory or event file matches this pattern", {}),
        "s3://no-bucket-of-this-name/x": ("the bucket does not exist", {}),
        bucket.url("runs"): (
            "cannot be reached: the connection was refused",
            {"aws_endpoint": "http://127.0.0.1:9"},
        ),
        "s3://": ("does not name a bucket", {}),
        "https://host/a?b": ("a URL with a query", {}),
        "hdfs://host/runs": ("hdfs:// is not supported", {}),
        "file://host/runs": ("names another machine", {}),
    }
    for url, (words, storage) in cases.items():
        with pytest.raises(SourceError) as raised:
            tbq.open(url, storage={**bucket.storage, **storage})
        assert words in str(raised.value), url
    done = run_cli("ls", bucket.url("runs"), AWS_ENDPOINT="http://127.0.0.1:9")
    assert done.returncode == 1 and "cannot be reached" in done.stderr
    assert any("nothing is here" in finding.message for finding in tbq.doctor(bucket.url("runz")))


def test_denied(bucket: Bucket, s3_server: S3Server) -> None:
    bucket.put("runs/events.out.tfevents.1.host", ef.event_file([ef.version(), ef.scalar("a", 1, 1)]))
    body = b"<Error><Code>AccessDenied</Code></Error>"
    s3_server.before = lambda request: ("403 Forbidden", body)
    with pytest.raises(SourceError, match=r"access is denied \(AccessDenied\)"):
        tbq.open(bucket.url("runs"))
    s3_server.before = lambda request: ("403 Forbidden", body) if "list-type" not in request.query else None
    with pytest.raises(SourceError, match="access is denied"):
        tbq.open(bucket.url("runs")).scalars()


def test_file_urls(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "my runs").symlink_to(runs)
    url = (tmp_path / "my runs").as_uri()
    assert "%20" in url
    assert tbq.open(url).runs == tbq.open(runs).runs
    assert not Path(tbq.open(url).path).name.startswith("file:")
    with tbq.follow(url) as follower:
        assert follower.interval == 0.2
        assert follower.poll().table("scalars")
    assert len(run_cli("ls", url).stdout.splitlines()) == 10


def test_export(bucket: Bucket, runs: Path, tmp_path: Path) -> None:
    log = tbq.open(runs)
    target = bucket.url("out/scalars.parquet")
    assert log.write(target, kind="scalars", storage=bucket.storage) == [target]
    table = pq.read_table(pa.BufferReader(bucket.get("out/scalars.parquet")))
    assert len(table) == len(log.scalars())
    with pytest.raises(OutputError, match="already exists"):
        log.scalars().write(target)
    log.scalars(run="diverged").write(target, force=True)
    assert len(pq.read_table(pa.BufferReader(bucket.get("out/scalars.parquet")))) < len(table)
    done = run_cli("export", runs, "-o", bucket.url("a/{run}.csv"))
    assert done.returncode == 0, done.stderr
    assert "a/diverged.csv" in bucket.names()
    done = run_cli("export", runs, "--kind", "all", "-o", bucket.url("every"))
    assert done.returncode == 0, done.stderr
    assert {"every/images.parquet", "every/scalars.parquet"} <= set(bucket.names())
    log.write(bucket.url("all.duckdb"))
    assert bucket.get("all.duckdb")[8:12] == b"DUCK"
    with pytest.raises(OutputError, match="the bucket does not exist"):
        log.scalars().write("s3://no-bucket-of-this-name/x.csv")
    with pytest.raises(OutputError, match="cannot write to a web server"):
        log.scalars().write("https://host/x.csv")
    with pytest.raises(OutputError, match="does not name an object"):
        log.scalars().write("s3://bucket/", format="csv")
    with pytest.raises(TbqError, match="must be a local path, not a URL"):
        log.write_media(bucket.url("media"))


def test_a_failed_export_leaves_no_object(
    bucket: Bucket, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tbq.export import csv

    def fail(table: object, stream: Any, options: object) -> None:
        stream.write(b"half")
        raise OSError(28, "no space")

    monkeypatch.setattr(csv, "write", fail)
    with pytest.raises(OutputError):
        tbq.open(runs).scalars().write(bucket.url("out.csv"))
    assert bucket.names() == []


def test_an_export_does_not_replace_what_came_meanwhile(
    bucket: Bucket, runs: Path, s3_server: S3Server
) -> None:
    def meanwhile(request: Any) -> None:
        if request.method == "PUT":
            bucket.put("out.csv", b"mine")

    s3_server.before = meanwhile
    with pytest.raises(OutputError, match="already exists"):
        tbq.open(runs).scalars().write(bucket.url("out.csv"))
    assert bucket.get("out.csv") == b"mine"


@pytest.mark.long
@pytest.mark.parametrize("ranges", [True, False])
def test_a_web_server(ranges: bool, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBQ_CACHE", str(tmp_path / "cache"))
    for path in runs.rglob("*tfevents*"):  # a file that is two seconds old may still change within its second
        os.utime(path, (1.7e9, 1.7e9))
    local = tbq.open(runs)
    with web_server(runs.parent, ranges) as (url, requests):
        log = tbq.open(f"{url}/runs")
        assert log.runs == local.runs
        assert rows(log.scalars()) == rows(local.scalars())
        asked = len(requests)
        log.histograms()
        assert len(requests) == asked
        assert tbq.open(log.files).runs == local.runs
        assert tbq.open(log.files[0]).files == log.files[:1]
        for path in ("nothing", "runs/nothing/events.out.tfevents.1"):
            with pytest.raises(SourceError, match="nothing is here"):
                tbq.open(f"{url}/{path}")
        with tbq.follow(f"{url}/runs") as follower:
            assert len(follower.poll().table("scalars")) == len(local.scalars())
            assert not follower.poll()


def test_a_large_object_in_pieces(
    bucket: Bucket, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tbq.source import fetch

    monkeypatch.setattr(fetch, "PIECE", 1000)
    data = ef.event_file([ef.version(), *(ef.scalar("loss", i, i) for i in range(500))])
    bucket.put("runs/events.out.tfevents.1.host", data)
    bucket.requests.clear()
    assert len(tbq.open(bucket.url("runs")).scalars()) == 500
    assert bucket.count() == {"list": 1, "get": -(-len(data) // 1000)}
    (tmp_path / "www").mkdir()
    (tmp_path / "www/events.out.tfevents.1.host").write_bytes(data)
    with web_server(tmp_path / "www", ranges=False) as (url, _):
        assert len(tbq.open(url).scalars()) == 500


def test_without_the_extra(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    from tbq.source import store

    store._connect.cache_clear()
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(TbqError, match="obstore, which is not installed") as raised:
        tbq.open(bucket.url("runs"))
    assert raised.value.hint == install_command("remote")


def test_the_data_provider_of_the_board(bucket: Bucket, runs: Path) -> None:
    from tensorboard import context

    from tbq.compat.data_provider import DataProvider

    bucket.upload(runs, "runs")
    provider = DataProvider(bucket.url("runs"))
    assert len(provider.list_runs(context.RequestContext(), experiment_id="")) == 9


def test_what_reads_no_urls_says_so(bucket: Bucket) -> None:
    from tbq.compat.event_accumulator import EventAccumulator
    from tbq.compat.event_multiplexer import EventMultiplexer
    from tbq.compat.tbparse import SummaryReader

    url = bucket.url("runs")
    for call in (
        lambda: EventAccumulator(url).Reload(),
        lambda: EventMultiplexer().AddRunsFromDirectory(url),
        lambda: SummaryReader(url),
        lambda: tbq.read(f"{url}/x.parquet"),
        lambda: tbq.results.metrics(f"{url}/x.csv"),
        lambda: tbq.results.weights(f"{url}/x.safetensors"),
    ):
        with pytest.raises(TbqError, match="must be a local path, not a URL"):
            call()


@pytest.mark.parametrize("limit", ["1GB", "1"])
def test_threads_read_one_log_at_once(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread replaces or deletes the file that another one reads."""
    monkeypatch.setenv("TBQ_CACHE_SIZE", limit)
    for _ in range(5):
        with scripted("abcdefghijkl") as web:
            log = tbq.open(f"{web.url}/runs")
            start = threading.Barrier(6)

            def read(number: int, log: tbq.LogDir = log, start: threading.Barrier = start) -> int:
                start.wait(120)
                names = [None, ["a", "b", "c"], ["k", "l"]][number % 3]
                rows = len(log.scalars("loss", run=names, on_error="raise"))
                return rows // (len(names) if names else 12)

            with ThreadPoolExecutor(6) as pool:
                assert list(pool.map(read, range(6))) == [20] * 6
