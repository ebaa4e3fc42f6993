"""The doctor compared with decoding, and rewriting in megabytes per second."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import python

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench


def tbq_scalars(path: str) -> Callable[[], object]:
    import pyarrow  # noqa: F401  (imports are not timed)

    import tbq

    return lambda: tbq.open(path).scalars(threads=1).to_arrow()


def tbq_doctor(path: str) -> Callable[[], object]:
    import pyarrow.compute  # noqa: F401

    import tbq

    return lambda: tbq.doctor(path, threads=1)


def tbq_rewrite(path: str, out: str, drop: str | None = None) -> Callable[[], object]:
    import pyarrow  # noqa: F401

    import tbq

    def once() -> object:
        shutil.rmtree(out, ignore_errors=True)
        return tbq.rewrite(path, out, drop_tag=drop, threads=1)

    return once


def run(bench: Bench) -> None:
    path = bench.corpus("runs10000")
    times = bench.time(
        "doctor, 10,000 files",
        {"doctor": python(tbq_doctor, path), "decode": python(tbq_scalars, path)},
        rounds=5,
    )
    bench.cost("doctor, 10,000 files", times, "doctor", "decode", want="<= 3x")
    path = bench.corpus("A")
    size = sum(file.stat().st_size for file in Path(path).rglob("*tfevents*"))
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as scratch:
        for what, drop in (("lossless", None), ("drop-tag", "*1*")):
            times = bench.time(
                f"rewrite A, {what}", {"tbq": python(tbq_rewrite, path, f"{scratch}/{what}", drop)}, rounds=5
            )
            if "tbq" in times:
                rate = size / times["tbq"].seconds()
                bench.add(f"rewrite A, {what}", f"{rate / 1e6:.0f} MB/s", "300 MB/s", rate / 300e6, ">= 1x")
