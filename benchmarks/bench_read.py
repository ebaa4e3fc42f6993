"""From a path to an Arrow table of scalars, and the table into a file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import peers
from benchmarks.harness import ROOT, Anew, megabytes, python

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench, Contestant

FASTER_THAN_RUST = {"A": ">= 30x", "B": ">= 20x", "C": ">= 40x", "D": ">= 40x"}
TWO_THREADS = {"A": ">= 1.7x", "B": ">= 1.7x", "C": ">= 1x", "D": ">= 1x"}  # on a quiet machine
PER_SECOND = 45e6  # scalars, in a fresh process


def tbq_scalars(path: str, threads: int = 1) -> Callable[[], object]:
    import pyarrow  # noqa: F401  (imports are not timed)

    import tbq

    return lambda: tbq.open(path).scalars(threads=threads).to_arrow()


def tbq_first(path: str, small: str) -> Callable[[], object]:
    """The same, before memory was used; all modules are imported."""
    tbq_scalars(small)()
    return tbq_scalars(path)


def tbq_write(path: str, out: str) -> Callable[[], object]:
    """Write a table that is in memory."""
    import pyarrow.parquet  # noqa: F401

    import tbq

    table = tbq.open(path).scalars(threads=1)
    table.to_arrow()
    return lambda: table.write(out, force=True)


def run(bench: Bench) -> None:
    for name in "ABCD":
        one_thread(bench, name)
    fresh_process(bench)
    if not bench.quick:
        large_file(bench)
    writing(bench)
    imports(bench)


def one_thread(bench: Bench, name: str) -> None:
    path = bench.corpus(name)
    # Time the quick ones separately: after a peer that used and freed a gigabyte, fresh pages cost far more.
    times = bench.time(
        f"read {name}",
        {
            "tbq": python(tbq_scalars, path),
            "bare loop": peers.bare_loop(path),
            "bare loop, warm memory": peers.bare_loop(path, reuse=True),
            "tbq, 2 threads": python(tbq_scalars, path, 2),
        },
        rounds=15,
    )
    slow: dict[str, Contestant] = {"Rust server": peers.RustServer(path)}
    if name == "D":
        media = ("images", "audio", "histograms")
        slow["Rust server, no media kept"] = peers.RustServer(path, ("scalars",), media)
    if name == "A":
        slow["EventAccumulator"] = python(peers.event_accumulator, path)
        slow["tbparse"] = python(peers.tbparse_scalars, path)
    once = ("EventAccumulator", "tbparse")
    times |= bench.time(f"read {name}", slow, rounds=5, warmup=1, once=once)

    # tbq keeps its slabs for the next round, so compare with the loop that keeps its memory.
    want = {"A": ">= 0.8x", "D": ""}.get(name, ">= 0.7x")
    bench.faster(f"read {name}", times, "tbq", "bare loop, warm memory", want=want)
    bench.faster(f"read {name}", times, "tbq", "bare loop")
    bench.faster(f"read {name}", times, "tbq", "Rust server", want=FASTER_THAN_RUST[name])
    bench.faster(f"read {name}", times, "tbq", "Rust server, no media kept")
    bench.faster(f"read {name}", times, "tbq", "EventAccumulator", want=">= 200x")
    bench.faster(f"read {name}", times, "tbq", "tbparse", want=">= 200x")
    bench.faster(
        f"read {name}, wall, best",
        times,
        "tbq, 2 threads",
        "tbq",
        want=TWO_THREADS[name],
        clock="wall",
        of="best",
    )


def fresh_process(bench: Bench) -> None:
    first = Anew(python(tbq_first, bench.corpus("A"), bench.corpus("runs100")))
    times = bench.time("read A, fresh process", {"tbq": first}, rounds=9, warmup=1)
    if "tbq" in times:
        rate = times["tbq"].last("rows") / times["tbq"].seconds()
        shown, limit = (f"{each / 1e6:.0f} million scalars a second" for each in (rate, PER_SECOND))
        bench.add("read A, fresh process", shown, limit, rate / PER_SECOND, ">= 1x")


def large_file(bench: Bench) -> None:
    path = bench.corpus("F")
    times = bench.time(
        "read F",
        {
            "tbq": python(tbq_scalars, path),
            "tbq, 2 threads": python(tbq_scalars, path, 2),
            "bare loop": peers.bare_loop(path),
        },
        rounds=5,
        warmup=1,
    )
    bench.faster(
        "read F, wall, best", times, "tbq, 2 threads", "tbq", want=">= 1.5x", clock="wall", of="best"
    )
    bench.faster("read F", times, "tbq", "bare loop")
    for threads in (1, 2):
        cold = bench.time(
            f"memory of F, {threads} threads", {"tbq": python(tbq_scalars, path, threads)}, rounds=1, warmup=0
        )
        if "tbq" in cold:
            peak, table = cold["tbq"].last("peak"), cold["tbq"].last("nbytes")
            allowed = 1.5 * table + 100e6
            bench.add(
                f"peak memory, F, {threads} threads", megabytes(peak),
                f"1.5 × table of {megabytes(table)} + 100 MB", peak / allowed, "<= 1x",
            )  # fmt: skip


def writing(bench: Bench) -> None:
    path = bench.corpus("A")
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        parquet = Path(scratch) / "source.parquet"
        code = "import sys, tbq; tbq.open(sys.argv[1]).scalars().write(sys.argv[2])"
        made = subprocess.run([sys.executable, "-c", code, path, parquet], cwd=ROOT)
        if made.returncode != 0:
            return
        times = bench.time(
            "write A",
            {
                "decode": python(tbq_scalars, path),
                "tbq Parquet": python(tbq_write, path, f"{scratch}/tbq.parquet"),
                "tbq CSV": python(tbq_write, path, f"{scratch}/tbq.csv"),
                "polars CSV": python(peers.polars_csv, parquet, f"{scratch}/polars.csv"),
                "pyarrow CSV": python(peers.pyarrow_csv, parquet, f"{scratch}/pyarrow.csv"),
                "pandas CSV": python(peers.pandas_csv, parquet, f"{scratch}/pandas.csv"),
            },
            rounds=7,
            warmup=1,
            once=("pandas CSV",),
        )
    bench.cost("Parquet of A", times, "tbq Parquet", "decode", want="<= 3x")
    bench.faster("CSV of A", times, "tbq CSV", "polars CSV", want=">= 1x")
    bench.faster("CSV of A", times, "tbq CSV", "pyarrow CSV")
    bench.faster("CSV of A", times, "tbq CSV", "pandas CSV")


PROBE = """
import sys
from tbq.cli import main
sys.argv = ["tbq", "--help"]
try:
    main()
except SystemExit:
    pass
print(*sorted({"numpy", "pyarrow", "duckdb", "pandas", "polars"} & set(sys.modules)), file=sys.stderr)
"""


def imports(bench: Bench) -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, cwd=ROOT)
    if done.returncode == 0:
        heavy = done.stderr.split()
        bench.add(
            "heavy imports of tbq --help",
            " ".join(heavy) or "none",
            "numpy, pyarrow, duckdb",
            len(heavy),
            "<= 0",
        )
