"""3,000 objects of 50 kB from a local S3 server, compared with s3fs and TensorBoard's loader; requests; idle checks.

The server is moto's, in its own process: both contestants pay for the time of its requests.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.harness import Bench

KEYS = {"aws_access_key_id": "bench", "aws_secret_access_key": "bench", "aws_region": "us-east-1"}
BUCKET = "bench"


def serve(folder: str) -> None:
    """A server with a bucket that has the files below a folder; prints its URL, and counts requests for /_count."""
    import logging

    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from moto.s3.models import s3_backends
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = DomainDispatcherApplication(create_backend_app)
    counts: dict[str, int] = {}

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        if environ["PATH_INFO"] == "/_count":
            data = json.dumps(counts).encode()
            counts.clear()
            start("200 OK", [("Content-Length", str(len(data)))])
            return [data]
        what = "list" if "list-type" in environ.get("QUERY_STRING", "") else environ["REQUEST_METHOD"].lower()
        counts[what] = counts.get(what, 0) + 1
        return app(environ, start)

    backend = s3_backends["123456789012"]["aws"]
    backend.create_bucket(BUCKET, "us-east-1")
    for path in sorted(Path(folder).rglob("*tfevents*")):
        backend.put_object(BUCKET, f"runs/{path.relative_to(folder).as_posix()}", path.read_bytes())
    server = make_server("127.0.0.1", 0, answer, threaded=True)
    print(f"http://127.0.0.1:{server.port}", flush=True)
    server.serve_forever()


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    code = f"from benchmarks.bench_remote import serve; serve({str(folder)!r})"
    root = Path(__file__).resolve().parent.parent
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=root)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def counted(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/_count") as answer:
        counts: dict[str, int] = json.load(answer)
        return counts


def tbq_remote(url: str, cache: str, keep: bool = False) -> Callable[[], object]:
    import obstore  # noqa: F401  (imports are not timed)
    import pyarrow  # noqa: F401

    import tbq

    def once() -> object:
        return tbq.open(f"s3://{BUCKET}/runs", storage={**KEYS, "aws_endpoint": url}, cache=cache).scalars()

    once.before = lambda: None if keep else shutil.rmtree(cache, ignore_errors=True)  # type: ignore[attr-defined]
    return once


def s3fs_tensorboard(url: str) -> Callable[[], object]:
    import s3fs
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    def once() -> object:
        store = s3fs.S3FileSystem(
            key="bench", secret="bench", endpoint_url=url, use_listings_cache=False, skip_instance_cache=True
        )
        rows = 0
        with tempfile.TemporaryDirectory() as scratch:
            local = Path(scratch, "events.out.tfevents")
            for path in store.find(f"{BUCKET}/runs"):
                local.write_bytes(store.cat_file(path))
                for event in EventFileLoader(str(local)).Load():
                    rows += len(event.summary.value)
        return {"rows": rows}

    return once


def idle(url: str, cache: str) -> Callable[[], object]:
    import tbq

    follower = tbq.follow(
        f"s3://{BUCKET}/runs", storage={**KEYS, "aws_endpoint": url}, cache=cache, kinds="scalars"
    )
    follower.poll(rows=False)
    return follower.poll


def run(bench: Bench) -> None:
    folder = bench.corpus("objects3000")
    with served(folder) as url, tempfile.TemporaryDirectory() as scratch:
        title = "3,000 objects of 50 kB from S3"
        counted(url)
        first = bench.time(title, {"tbq": python(tbq_remote, url, f"{scratch}/a")}, rounds=1, warmup=0)
        if "tbq" in first:
            asked = counted(url)
            requests = ", ".join(f"{count:,} {what}" for what, count in sorted(asked.items()))
            bench.add(
                "requests for 3,000 objects",
                requests,
                "3,000 get, 3 list",
                sum(asked.values()) / 3003,
                "<= 1x",
            )
        times = bench.time(
            title,
            {"tbq": python(tbq_remote, url, f"{scratch}/a"), "s3fs + TensorBoard": python(s3fs_tensorboard, url)},
            rounds=3, warmup=0, once=("s3fs + TensorBoard",),
        )  # fmt: skip
        bench.faster(title, times, "tbq", "s3fs + TensorBoard", want=">= 5x", clock="wall")
        again = bench.time(
            "the same, in the cache",
            {"tbq": python(tbq_remote, url, f"{scratch}/a", True)},
            rounds=3,
            warmup=0,
        )
        if "tbq" in again and "tbq" in times:
            bench.faster(
                "the same, in the cache",
                {"cache": again["tbq"], "S3": times["tbq"]},
                "cache",
                "S3",
                clock="wall",
            )
        counted(url)
        rounds = 3 if bench.quick else 5
        looks = bench.time("an idle look at 3,000 objects", {"tbq": python(idle, url, f"{scratch}/a")}, rounds=rounds,
                           warmup=0)  # fmt: skip
        if "tbq" in looks:
            asked = counted(url)
            got = asked.get("list", 0) / (rounds + 1)
            others = sum(count for what, count in asked.items() if what != "list")
            bench.add(
                "requests of an idle look",
                f"{got:.0f} list, {others} other",
                "3 list",
                got / 3 + others,
                "<= 1x",
            )
