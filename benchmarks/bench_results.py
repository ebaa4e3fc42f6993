"""Writing every element of a checkpoint, compared with a nested Python loop; and statistics of 2 GB."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpora
from benchmarks.harness import megabytes, python, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench

# The convolutions and the head of a ResNet-50, 25.5 million parameters; the loop gets a slice of the same kind.
WHOLE = {f"layer4.{n}.conv2.weight": (512, 512, 3, 3) for n in range(9)}
WHOLE |= {f"layer4.{n}.bn2.bias": (512,) for n in range(9)}
WHOLE |= {
    "layer3.0.conv2.weight": (256, 256, 3, 3),
    "layer3.1.conv3.weight": (1024, 1544),
    "fc.weight": (1000, 2048),
}
SLICE = {"layer4.0.conv2.weight": (64, 512, 3, 3), "layer4.0.bn2.bias": (512,), "fc.weight": (100, 2048)}


def save(path: str, shapes: dict[str, tuple[int, ...]], scale: float = 0.05) -> int:
    """Write a safetensors file of normal float32 parameters; returns how many elements it has."""
    import numpy as np
    from safetensors.numpy import save_file

    rng = np.random.default_rng(7)
    model = {
        name: rng.standard_normal(shape, np.float32) * np.float32(scale) for name, shape in shapes.items()
    }
    save_file(model, path)
    return sum(array.size for array in model.values())


def fresh(run: Callable[[], object], out: str) -> Callable[[], object]:
    """A round without the previous round's file, so that it times a new file and not a replaced one."""
    run.before = lambda: Path(out).unlink(missing_ok=True)  # type: ignore[attr-defined]
    return run


def nested_loop(path: str, out: str) -> Callable[[], object]:
    """What people write: a loop over the indices of each parameter and csv.writer."""
    import csv

    import numpy as np
    from safetensors.numpy import load_file

    model = load_file(path)

    def run() -> dict[str, Any]:
        with open(out, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["layer", "parameter", "index", "value"])
            for name, array in model.items():
                layer, parameter = name.rsplit(".", 1)
                for index in np.ndindex(array.shape):
                    writer.writerow([layer, parameter, ",".join(map(str, index)), array[index]])
        return {}

    return fresh(run, out)


def tbq_elements(path: str, out: str) -> Callable[[], object]:
    import tbq.results.elements

    def run() -> dict[str, Any]:
        tbq.results.weight_elements(path).write(out)
        return {}

    return fresh(run, out)


def tbq_statistics(path: str) -> Callable[[], object]:
    import tbq.results
    import tbq.results.statistics
    import tbq.table

    return lambda: tbq.results.weights(path)


def run(bench: Bench) -> None:
    corpora.DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=corpora.DATA) as scratch:
        elements(bench, scratch)
        if not bench.quick:
            statistics(bench, scratch)


def elements(bench: Bench, scratch: str) -> None:
    whole, part = f"{scratch}/whole.safetensors", f"{scratch}/part.safetensors"
    rows, loop_rows = save(whole, WHOLE), save(part, SLICE)
    times = bench.time(
        f"elements, {rows:,} to a file ({loop_rows:,} by the loop)",
        {
            "nested loop": python(nested_loop, part, f"{scratch}/loop.csv"),
            "tbq CSV": python(tbq_elements, whole, f"{scratch}/tbq.csv"),
            "tbq Parquet": python(tbq_elements, whole, f"{scratch}/tbq.parquet"),
        },
        rounds=5,
        warmup=1,
    )
    for kind, want in (("CSV", ">= 30x"), ("Parquet", ">= 60x")):
        for clock, of, target in (("wall", "best", want), ("cpu", "median", "")):
            if not {"nested loop", f"tbq {kind}"} <= set(times):
                continue
            ours = times[f"tbq {kind}"].seconds(clock, of)
            # A loop costs the same for each element, so its time is scaled to the elements of the whole file.
            loop = times["nested loop"].seconds(clock, of) * rows / loop_rows
            what = f"{rows / 1e6:.0f} million elements to {kind}, {clock}"
            bench.add(what, f"tbq {seconds(ours)}", f"nested loop {seconds(loop)}", loop / ours, target)


def statistics(bench: Bench, scratch: str) -> None:
    path = Path(scratch, "large.safetensors")
    largest = 100_000_000
    save(str(path), {f"layer{n}.weight": (10_000, 10_000) for n in range(5)})
    times = bench.time("statistics of 2 GB", {"tbq": python(tbq_statistics, str(path))}, rounds=1, warmup=0)
    if "tbq" in times:
        peak = times["tbq"].last("peak")
        allowed = 4 * largest + 200e6
        bench.add(
            f"peak memory, statistics of {megabytes(path.stat().st_size)}", megabytes(peak),
            f"largest tensor of {megabytes(4 * largest)} + 200 MB", peak / allowed, "<= 1x",
        )  # fmt: skip
