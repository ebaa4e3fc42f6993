"""TF2 histograms to a table, images from warm cache, and memory while streaming them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import peers
from benchmarks.harness import megabytes, python

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench


def tbq_histograms(path: str) -> Callable[[], object]:
    import pyarrow  # noqa: F401  (imports are not timed)

    import tbq

    tbq.open(path).histograms(threads=1)
    return lambda: tbq.open(path).histograms(threads=1).to_arrow()


def tbq_images(path: str) -> Callable[[], object]:
    """Every image found, read, verified and handed over, batch by batch; nothing is written."""
    import pyarrow  # noqa: F401

    import tbq
    from tbq.kinds.values import locate

    def work() -> dict[str, float]:
        values = locate(tbq.open(path), "images", threads=1)
        return {"bytes": float(sum(batch.column("data").nbytes for batch in values.batches()))}

    return work


def tbq_media(path: str, out: str, every: int) -> Callable[[], object]:
    import tbq

    return lambda: tbq.open(path).media(out, every=every, threads=1, force=True)


def run(bench: Bench) -> None:
    histograms(bench)
    images(bench)


def histograms(bench: Bench) -> None:
    path = bench.corpus("E")
    times = bench.time(
        "histograms",
        {"tbq": python(tbq_histograms, path), "Rust server": peers.RustServer(path)},
        rounds=11,
        warmup=3,
    )
    if not bench.quick:  # it is slow: three rounds after one of warm-up
        slow = {"EventAccumulator": python(peers.event_accumulator_histograms, path)}
        times |= bench.time("histograms", slow, rounds=3, warmup=1)
    bench.faster("TF2 histograms", times, "tbq", "Rust server", want=">= 10x")
    bench.faster("TF2 histograms", times, "tbq", "EventAccumulator", want=">= 100x")


def images(bench: Bench) -> None:
    path = bench.corpus("images")
    times = bench.time("images", {"tbq": python(tbq_images, path)}, rounds=9)
    if "tbq" in times:
        size, spent = times["tbq"].last("bytes"), times["tbq"].seconds("cpu")
        rate = size / spent / 1e9
        bench.add("2,000 images, one thread", f"{rate:.2f} GB/s", "1 GB/s", rate, ">= 1x")
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        peaks = {}
        for every in (1, 10):
            done = bench.time(
                f"media, every={every}",
                {"tbq": python(tbq_media, path, Path(scratch, str(every)), every)},
                rounds=1,
                warmup=0,
            )
            if "tbq" in done:
                peaks[every] = done["tbq"].last("peak")
        if len(peaks) == 2:
            bench.add(
                "peak memory, 2,000 images to files", megabytes(peaks[1]),
                f"200 images {megabytes(peaks[10])}", peaks[1] / peaks[10], "<= 1.1x",
            )  # fmt: skip
