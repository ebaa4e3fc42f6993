"""Plots: five seeds of 2 million points as a PDF with a band, and the demo log in the terminal."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.bench_start import Fresh
from benchmarks.harness import seconds

if TYPE_CHECKING:
    from benchmarks.harness import Bench, Contestant

_PAPER = ["--by", "re:(seed).*", "--band", "ci95", "--style", "paper", "-o", "band.pdf", "--force"]


def run(bench: Bench) -> None:
    import tbq

    seeds = bench.corpus("seeds")
    with tempfile.TemporaryDirectory() as folder:
        tbq.demo(Path(folder, "runs"))
        read = f"import tbq; tbq.open({str(seeds)!r}).scalars()"
        contestants: dict[str, Contestant] = {
            "tbq": Fresh(["-m", "tbq", "plot", str(seeds), *_PAPER], folder),
            "import matplotlib": Fresh(["-c", "import matplotlib.pyplot"], folder),
            "decode": Fresh(["-c", read], folder),
        }
        title = "plot: 5 x 2M points, ci95"
        times = bench.time(title, contestants, rounds=5)
        if set(times) == set(contestants):
            ours, imported, decoded = (times[name].seconds() for name in contestants)
            limit = 3 * imported + decoded
            bench.add(
                title, f"tbq {seconds(ours)}", f"3 imports + decode {seconds(limit)}", ours / limit, "<= 1x"
            )

        beside: dict[str, Contestant] = {
            "tbq": Fresh(["-m", "tbq", "plot", "runs"], folder),
            "tbq export": Fresh(["-m", "tbq", "export", "runs", "-o", "x.csv", "--force"], folder),
        }
        title = "plot: demo log in the terminal"
        times = bench.time(title, beside, rounds=9)
        bench.cost(title, times, "tbq", "tbq export", want="<= 1.3x")
