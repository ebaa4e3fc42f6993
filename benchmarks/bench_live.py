"""The cost of following: polls of many runs, catching up compared with a decode, and the delay until a row is shown."""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import python, seconds

if TYPE_CHECKING:
    from benchmarks.harness import Bench, Timing


def _runs(count: int) -> Path:
    """A directory of this many runs, each with one small file."""
    import tbq

    root = Path(tempfile.mkdtemp())
    with tbq.SummaryWriter(root / "first") as writer:
        for step in range(20):
            writer.add_scalar("loss", 0.5, step)
    data = next((root / "first").iterdir()).read_bytes()
    for number in range(count - 1):
        folder = root / f"sweep{number % 20}" / f"run{number}"
        folder.mkdir(parents=True)
        (folder / "events.out.tfevents.1.host").write_bytes(data)
    return root


def poll(count: int, new: bool) -> Callable[[], object]:
    """A poll of this many runs: nothing changed, or one run has one new event."""
    import tbq

    root = _runs(count)
    follower = tbq.follow(root, kinds="scalars")
    numbers = itertools.count(100)
    grows = tbq.SummaryWriter(root / "grows")
    grows.add_scalar("loss", 0.5, 0)
    grows.flush()
    for _ in range(4):  # directories that changed just now are listed again
        follower.poll()
        time.sleep(0.1)

    def timed() -> object:
        return {"rows": len(follower.poll().table()) if new else int(bool(follower.poll()))}

    def grown() -> object:
        grows.add_scalar("loss", 0.5, next(numbers))
        grows.flush()
        return timed()

    return grown if new else timed


def catch_up(path: str) -> Callable[[], object]:
    """Everything that a log already has."""
    import tbq

    def timed() -> object:
        with tbq.follow(path, kinds="scalars", threads=1) as follower:
            return follower.poll().table()

    return timed


def read(path: str) -> Callable[[], object]:
    import tbq

    return lambda: tbq.open(path).scalars(threads=1)


def latency(rounds: int) -> list[float]:
    """Seconds from a write to the line of `tbq follow` in another process."""
    import tbq

    with tempfile.TemporaryDirectory() as folder, tbq.SummaryWriter(Path(folder, "run")) as writer:
        writer.add_scalar("loss", 0.5, 0)
        writer.flush()
        command = [sys.executable, "-m", "tbq", "follow", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(1)
            waited = []
            for step in range(1, rounds + 1):
                time.sleep(0.037 * (step % 7))
                began = time.perf_counter()
                writer.add_scalar("loss", 0.5, step)
                writer.flush()
                process.stdout.readline()
                waited.append(time.perf_counter() - began)
            process.kill()
    return waited


def kept(path: str) -> float:
    """Bytes of memory per additional scalar: three copies of a log compared with one."""
    code = (
        "import sys, tbq, pyarrow\n"
        "def resident(): return int(open('/proc/self/statm').read().split()[1]) * 4096\n"
        "before = resident()\n"
        "follower = tbq.follow({str(n): sys.argv[1] for n in range(int(sys.argv[2]))}, kinds='scalars')\n"
        "rows = sum(follower.poll().tables._rows.values())\n"
        "getattr(tbq, 'release_memory', int)()  # what is kept for the next decode is not kept of the log\n"
        "print(rows, resident() - before)\n"
    )
    sizes = []
    for copies in (1, 3):
        done = subprocess.run(
            [sys.executable, "-c", code, path, str(copies)], capture_output=True, text=True, check=True
        )
        sizes.append([int(word) for word in done.stdout.split()])
    (few, small), (many, large) = sizes
    return (large - small) / (many - few)


def curves(path: str, smooth: float) -> Callable[[], object]:
    """The curves of one tag of all runs of a log, 800 columns wide, on two threads."""
    import tbq
    from tbq.following.view import View

    follower = tbq.follow(path, kinds="scalars", threads=2)
    follower.poll()
    view = View(follower)
    tag = view.latest(follower.runs[:1])[follower.runs[0]].series[0].tag
    series = [(run, tag) for run in follower.runs]
    return lambda: view.curves(series, width=800, smooth=smooth)


def run(bench: Bench) -> None:
    for smooth, limit in () if bench.quick else ((0.0, 0.1), (0.6, 0.2)):
        title = f"live: curves of 1,000 x 20,000 points{', smoothed' if smooth else ''} (wall)"
        times = bench.time(title, {"tbq": python(curves, bench.corpus("page"), smooth)})
        wall = times["tbq"].seconds("wall")
        bench.add(title, f"tbq {seconds(wall)}", f"limit {seconds(limit)}", wall / limit, "<= 1x")
    for count, limit in ((1_000, 0.003), (10_000, 0.060)):
        if not (bench.quick and count > 1_000):
            title = f"live: poll of {count:,} runs"
            _within(bench, title, bench.time(title, {"tbq": python(poll, count, False)}), limit)
    title = "live: one event in 1,000 runs"
    _within(bench, title, bench.time(title, {"tbq": python(poll, 1_000, True)}), 0.006)
    for name in "AB":
        title = f"live: catching up on {name}"
        path = bench.corpus(name)
        times = bench.time(title, {"follow": python(catch_up, path), "open": python(read, path)})
        bench.faster(title, times, "follow", "open", want=">= 0.9x")
    line = statistics.median(latency(5 if bench.quick else 30))
    bench.add(
        "live: from write to line", f"tbq {seconds(line)}", f"limit {seconds(0.3)}", line / 0.3, "<= 1x"
    )
    if sys.platform == "linux":
        for name in "AB":
            size = kept(str(bench.corpus(name)))
            title = f"live: memory per scalar of {name}"
            bench.add(title, f"tbq {size:.1f} bytes", "limit 30 bytes", size / 30, "<= 1x")


def _within(bench: Bench, title: str, times: Mapping[str, Timing], limit: float) -> None:
    """A row: CPU seconds and their limit."""
    if "tbq" in times:
        cpu = times["tbq"].seconds()
        bench.add(title, f"tbq {seconds(cpu)}", f"limit {seconds(limit)}", cpu / limit, "<= 1x")
