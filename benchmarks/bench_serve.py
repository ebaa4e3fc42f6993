"""The page's server: memory, bytes over the wire, answers, SQL, an appended event."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import megabytes, seconds

if TYPE_CHECKING:
    from benchmarks.harness import Bench

TAG = "loss/train"
RUNS, STEPS = 1000, 20_000


class Server:
    """`tbq serve` as a process, from its start on."""

    def __init__(self, path: Path) -> None:
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tbq", "serve", str(path), "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def read(self, path: str, **params: Any) -> bytes:
        """The bytes of an answer over the wire."""
        url = f"{self.url}api/{path}?{urllib.parse.urlencode(params)}"
        request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=200) as answer:
            body: bytes = answer.read()
            return body

    def sql(self, query: str) -> bytes:
        """The answer to a query."""
        body = json.dumps({"query": query}).encode()
        request = urllib.request.Request(f"{self.url}api/sql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=200) as answer:
            found: bytes = answer.read()
            return found

    def state(self) -> Any:
        with urllib.request.urlopen(f"{self.url}api/state", timeout=200) as answer:
            return json.loads(answer.read())

    def complete(self) -> float:
        """Seconds from the start until everything was read."""
        while True:
            state = self.state()
            if state["loaded"] and not state["left"]:
                return time.perf_counter() - self.began
            time.sleep(0.02)

    def memory(self) -> float:
        """The peak memory so far, in bytes."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]

    def children(self) -> float:
        """The peak memory so far of its child processes, in bytes."""
        pids = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        found = [re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()) for pid in pids]
        return sum(int(each[1]) * 1024 for each in found if each)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def run(bench: Bench) -> None:
    path = bench.corpus_in_memory("page")
    with Server(path) as server:
        _limit(bench, "serve: 1,000 runs x 20,000 points, start to complete data", server.complete(), 3.0)
        loaded = server.memory() / (RUNS * STEPS)
        bench.add("serve: memory after reading", f"{loaded:.1f} B/scalar", "limit 40 B", loaded / 40, "<= 1x")
        times, sizes = [], []
        for place in range(3 if bench.quick else 10):
            low = 1000 * place
            began = time.perf_counter()
            sizes.append(len(server.read("curves", tag=TAG, width=800, low=low, high=low + 9000 - place)))
            times.append(time.perf_counter() - began)
        whole = server.read("curves", tag=TAG, width=800)
        sizes.append(len(whole))
        bench.add(
            "serve: its curves in 800 columns, over the wire (largest)",
            megabytes(max(sizes)),
            "limit 3.0 MB",
            max(sizes) / 3e6,
            "<= 1x",
        )
        times.sort()
        bench.add("serve: zoom into half of it (median, p95)",
                  f"{seconds(times[len(times) // 2])}, {seconds(times[int(0.95 * len(times))])}", "", 0.0)  # fmt: skip
        began = time.perf_counter()
        server.read("curves", tag=TAG, width=800, group="re:(.*)/seed=.*", band="std")
        _limit(bench, "serve: means and bands of 100 groups, first time", time.perf_counter() - began, 0.3)
        began = time.perf_counter()
        server.read("metrics", columns=json.dumps([[TAG, stat] for stat in ("last", "min", "max")]))
        table = server.read("runs")
        bench.add(
            "serve: runs table with three metrics",
            f"{seconds(time.perf_counter() - began)}, {megabytes(len(table))}", "", 0.0,
        )  # fmt: skip
        server.sql("select 1")
        began = time.perf_counter()
        server.sql("select 1")
        bench.add(
            "serve: a query that reads nothing, in the process for SQL",
            seconds(time.perf_counter() - began),
            "",
            0.0,
        )
        peak = server.memory() / (RUNS * STEPS)
        bench.add(
            "serve: peak memory after all of this", f"{peak:.1f} B/scalar", "limit 40 B", peak / 40, "<= 1x"
        )
        bench.add(
            "serve: the process for SQL beside it, once there is a query",
            megabytes(server.children()),
            "",
            0.0,
        )
    _limit(bench, "serve: from write to answer (worst)", _appended(5 if bench.quick else 20), 1.0)


def _appended(rounds: int) -> float:
    """The longest time from a write to the point in the answer."""
    import tbq

    worst = 0.0
    with tempfile.TemporaryDirectory() as folder, tbq.SummaryWriter(Path(folder, "run")) as writer:
        writer.add_scalar("loss", 0.5, 0)
        writer.flush()
        with Server(Path(folder)) as server:
            server.complete()
            for step in range(1, rounds + 1):
                time.sleep(0.1 * (step % 7))
                writer.add_scalar("loss", 0.5, step)
                writer.flush()
                began = time.perf_counter()
                while json.loads(server.read("nearest", tag="loss", x=step))["points"][0]["step"] < step:
                    time.sleep(0.01)
                worst = max(worst, time.perf_counter() - began)
    return worst


def _limit(bench: Bench, what: str, taken: float, limit: float) -> None:
    bench.add(what, f"tbq {seconds(taken)}", f"limit {seconds(limit)}", taken / limit, "<= 1x")
