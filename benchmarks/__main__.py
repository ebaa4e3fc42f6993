"""Runs benchmarks/bench_*.py, all or those named, and prints one table of ratios."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from pathlib import Path

from benchmarks.harness import Bench, markdown, megabytes, seconds, text
from benchmarks.peers import versions


def cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def main() -> None:
    known = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which to run, of: {', '.join(known)} (all)"
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, no slow peers, no corpus F")
    parser.add_argument("--markdown", action="store_true", help="print the table of ratios as Markdown")
    parser.add_argument(
        "--release",
        action="store_true",
        help="keep the figures in released.json, for the next runs to compare with",
    )
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in known:
            parser.error(f"no benchmark {name!r}; there are: {', '.join(known)}")

    bench = Bench(quick=arguments.quick)
    began = time.perf_counter()
    for name in arguments.names or known:
        bench.attempt(name, importlib.import_module(f"benchmarks.bench_{name}").run)
        if arguments.release:  # after each, so that a failure later loses nothing
            bench.release()

    if not arguments.markdown:
        print(f"{cpu_name()}, {os.cpu_count()} cores; Python {platform.python_version()}; {versions()}")
        print("\nTimes (CPU: median, best; wall: median, best; peak memory; rounds)")
        for title, name, timing in bench.times:
            figures = [timing.seconds(clock, of) for clock in ("cpu", "wall") for of in ("median", "best")]
            peak = timing.last("peak")
            shown = "".join(f"{seconds(value):>11}" for value in figures)
            memory = f"{megabytes(peak) if peak else '':>10}"
            print(f"{title:28} {name:28}{shown}{memory}{len(timing.rounds):>4}")
        print("\nRatios, of CPU medians unless a row says otherwise")
    print((markdown if arguments.markdown else text)(bench.rows))
    judged = [row.met for row in bench.rows if row.met is not None]
    slipped = sum(row.slipped for row in bench.rows)
    counts = f"{sum(judged)} of {len(judged)} targets met, {slipped} slipped since the last release"
    print(
        f"{counts}, {time.perf_counter() - began:.0f} s",
        file=sys.stderr if arguments.markdown else sys.stdout,
    )


if __name__ == "__main__":
    main()
