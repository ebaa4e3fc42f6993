"""`tbq board` compared with `tensorboard` and its Rust server: time to complete data, memory, answers."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import megabytes, seconds

if TYPE_CHECKING:
    from benchmarks.harness import Bench

# As the other peers: with TensorBoard's own stub in place of TensorFlow, which takes seconds to import.
_TENSORBOARD = (
    "import sys, types\n"
    "sys.modules['tensorboard.compat.notf'] = types.ModuleType('notf')\n"
    "from tensorboard.main import run_main\n"
    "run_main()\n"
)
_ALL = ("--samples_per_plugin", "scalars=100000000")
_QUIET = 20  # seconds


class Server:
    """One of the two programs, on its own port."""

    def __init__(self, program: str, path: Path, *flags: str) -> None:
        command = (
            [sys.executable, "-c", _TENSORBOARD]
            if program == "tensorboard"
            else [sys.executable, "-m", "tbq", "board"]
        )
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            [*command, "--logdir", str(path), "--port", "0", *flags], stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        self.url = ""
        for line in self._process.stderr:
            if found := re.search(r"at (http://\S+)", line):
                self.url = found[1]
                break
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def read(self, route: str, **query: str) -> bytes:
        url = f"{self.url}data/plugin/{route}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=200) as answer:
            body: bytes = answer.read()
            return body

    def get(self, route: str, **query: str) -> Any:
        return json.loads(self.read(route, **query))

    def complete(self, runs: int, run: str, tag: str, last: int) -> float:
        """Seconds from the start until all runs are listed and this series has its last step."""
        while time.perf_counter() - self.began < 300:
            try:
                if (
                    len(self.get("scalars/tags")) >= runs
                    and self.get("scalars/scalars", run=run, tag=tag)[-1][1] >= last
                ):
                    return time.perf_counter() - self.began
            except OSError:  # not there yet
                pass
            time.sleep(0.01)
        raise TimeoutError("the data are not complete after 300 s")

    def memory(self) -> float:
        """The peak memory of the process and its children, in bytes."""
        pids, peak = [self._process.pid], 0
        for pid in pids:
            status = Path(f"/proc/{pid}/status").read_text()
            peak += int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]
            for task in Path(f"/proc/{pid}/task").iterdir():
                pids += map(int, (task / "children").read_text().split())
        return peak

    def loaded(self) -> float:
        """The peak memory once it has stopped growing."""
        peak, since = 0.0, time.perf_counter()
        while time.perf_counter() - since < _QUIET and time.perf_counter() - self.began < 300:
            now = self.memory()
            if now > peak:
                peak, since = now, time.perf_counter()
            time.sleep(1)
        return peak

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _last(path: Path) -> tuple[int, str, str, int]:
    """How many runs there are, and run, tag and last step of the last series."""
    import tbq

    tags = tbq.open(path).tags().to_arrow()
    row = tags.slice(len(tags) - 1).to_pylist()[0]
    return len(set(tags["run"].to_pylist())), row["run"], row["tag"], row["last_step"]


def _start(bench: Bench, name: str, want: str) -> None:
    path = bench.corpus(name)
    end = _last(path)
    best: dict[str, float] = {}
    for program in ("tbq", "tensorboard") * (1 if bench.quick else 3):
        with Server(program, path) as server:
            taken = server.complete(*end)
            best[program] = min(best.get(program, taken), taken)
    ratio = best["tensorboard"] / best["tbq"]
    bench.add(
        f"board: {name}, start to complete data (wall, best)",
        f"tbq {seconds(best['tbq'])}",
        f"tensorboard {seconds(best['tensorboard'])}",
        ratio,
        want,
    )


def _appended(rounds: int) -> float:
    """The longest time from a write to the point in the answer."""
    import tbq

    worst = 0.0
    with tempfile.TemporaryDirectory() as folder, tbq.SummaryWriter(Path(folder, "run")) as writer:
        writer.add_scalar("loss", 0.5, 0)
        writer.flush()
        with Server("tbq", Path(folder)) as server:
            server.complete(1, "run", "loss", 0)
            for step in range(1, rounds + 1):
                time.sleep(0.1 * (step % 7))
                writer.add_scalar("loss", 0.5, step)
                writer.flush()
                began = time.perf_counter()
                while server.get("scalars/scalars", run="run", tag="loss")[-1][1] < step:
                    time.sleep(0.01)
                worst = max(worst, time.perf_counter() - began)
    return worst


def run(bench: Bench) -> None:
    _start(bench, "A", ">= 1.43x")
    _start(bench, "B", ">= 1.43x")
    if not bench.quick:
        _start(bench, "F", ">= 4x")
        path = bench.corpus("F")
        _, name, tag, _ = _last(path)
        peaks = {}
        for program in ("tbq", "tensorboard"):
            with Server(program, path, *_ALL) as server:
                server.loaded()
                with contextlib.suppress(OSError):  # with every point TensorBoard may never answer
                    server.read("scalars/scalars", run=name, tag=tag)
                peaks[program] = server.memory()
        bench.add(
            "board: F, peak memory with all points, one series asked for",
            f"tbq {megabytes(peaks['tbq'])}",
            f"tensorboard {megabytes(peaks['tensorboard'])}",
            peaks["tensorboard"] / peaks["tbq"],
            ">= 4x",
        )
    runs, name, tag, last = _last(bench.corpus("A"))
    with Server("tbq", bench.corpus("A"), *_ALL) as server:
        server.complete(runs, name, tag, last)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            body = server.read("scalars/scalars", run=name, tag=tag)
            times.append(time.perf_counter() - began)
        assert len(json.loads(body)) == 100_000
    _limit(bench, "board: one tag of A, every point", min(times), 0.5)
    _limit(bench, "board: ListScalars of 1,000 runs x 10 tags", _listing(bench.corpus("B")), 0.05)
    _limit(bench, "board: from write to answer (worst)", _appended(5 if bench.quick else 20), 1.0)


def _listing(path: Path) -> float:
    """Seconds of a `list_scalars` without anything cached from the previous one."""
    from tensorboard.context import RequestContext

    from tbq.compat.data_provider import DataProvider

    provider = DataProvider(path)
    ctx = RequestContext()
    provider.list_scalars(ctx, experiment_id="", plugin_name="scalars")
    times = []
    for _ in range(5):
        provider._lists.clear()
        began = time.perf_counter()
        listed = provider.list_scalars(ctx, experiment_id="", plugin_name="scalars")
        times.append(time.perf_counter() - began)
    assert sum(map(len, listed.values())) == 10_000
    return min(times)


def _limit(bench: Bench, what: str, taken: float, limit: float) -> None:
    bench.add(what, f"tbq {seconds(taken)}", f"limit {seconds(limit)}", taken / limit, "<= 1x")
