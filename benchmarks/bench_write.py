"""The cost of logging. A round opens a writer, logs, and closes it; all its threads are counted."""

from __future__ import annotations

import itertools
import os
import tempfile
from typing import TYPE_CHECKING, Any

from benchmarks.harness import python

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench

CALLS = 10_000
METRICS = {f"train/metric_{i}": 0.1 * i for i in range(10)}


def fresh() -> Callable[[], str]:
    """A new directory for each round."""
    root, numbers = tempfile.mkdtemp(), itertools.count()
    return lambda: os.path.join(root, str(next(numbers)))  # noqa: PTH118


def opener(library: str) -> Callable[[], Any]:
    directory = fresh()
    if library == "tbq":
        from tbq import SummaryWriter
    elif library == "torch":
        from torch.utils.tensorboard import SummaryWriter
    else:
        from tensorboardX import SummaryWriter
    return lambda: SummaryWriter(directory())


def add_scalar(library: str) -> Callable[[], object]:
    create = opener(library)

    def timed() -> object:
        with create() as writer:
            for step in range(CALLS):
                writer.add_scalar("train/loss", 0.5, step)
        return {"rows": CALLS}

    return timed


def tf_scalar() -> Callable[[], object]:
    import tensorflow as tf

    directory = fresh()

    def timed() -> object:
        with tf.summary.create_file_writer(directory()).as_default() as writer:
            for step in range(CALLS):
                tf.summary.scalar("train/loss", 0.5, step=step)
            writer.close()
        return {"rows": CALLS}

    return timed


def log_ten(library: str) -> Callable[[], object]:
    """Ten metrics per step: one `log` if the writer has it, else ten calls."""
    create = opener(library)

    def timed() -> object:
        with create() as writer:
            if library == "tbq":
                for step in range(CALLS // 10):
                    writer.log(METRICS, step)
            else:
                for step in range(CALLS // 10):
                    for tag, value in METRICS.items():
                        writer.add_scalar(tag, value, step)
        return {"rows": CALLS}

    return timed


def histogram(library: str, dtype: str) -> Callable[[], object]:
    import numpy as np

    create = opener(library)
    values = np.random.default_rng(0).normal(size=1_000_000).astype(dtype)

    def timed() -> object:
        with create() as writer:
            for step in range(3):
                writer.add_histogram("weights", values, step)
        return {"rows": 3}

    return timed


def run(bench: Bench) -> None:
    libraries = ("tbq", "torch", "tensorboardX")
    times = bench.time(
        f"add_scalar, {CALLS:,} calls",
        {name: python(add_scalar, name) for name in libraries} | {"tf.summary": python(tf_scalar)},
        rounds=5,
        warmup=1,
        once=("tf.summary",),
    )
    for peer in ("torch", "tensorboardX", "tf.summary"):
        want = "" if peer == "tf.summary" else ">= 30x"
        bench.faster(f"add_scalar × {CALLS:,}", times, "tbq", peer, want=want)
    times = bench.time(
        "log of ten metrics", {name: python(log_ten, name) for name in libraries}, rounds=5, warmup=1
    )
    bench.faster(f"log of ten × {CALLS // 10:,}", times, "tbq", "torch", want=">= 100x")
    bench.faster(f"log of ten × {CALLS // 10:,}", times, "tbq", "tensorboardX")
    for dtype in ("float32", "float64"):
        times = bench.time(
            f"histogram of 1M {dtype}", {name: python(histogram, name, dtype) for name in libraries}, rounds=5
        )
        bench.faster(f"histogram of 1M {dtype} × 3", times, "tbq", "torch", want=">= 5x")
        bench.faster(f"histogram of 1M {dtype} × 3", times, "tbq", "tensorboardX")
