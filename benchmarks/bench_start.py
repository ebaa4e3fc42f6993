"""The cost of a command on a small log, compared with importing the libraries that it needs."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.harness import Bench, Contestant

_COMMANDS = {
    "--help": ["--help"],
    "ls": ["ls", "runs"],
    "tags": ["tags", "runs"],
    "export -o x.csv": ["export", "runs", "-o", "x.csv", "--force"],
    "show": ["show", "runs", "notes"],
    "summary": ["summary", "runs"],
    "sql": ["sql", "runs", "select run, min(value) from scalars group by run"],
}
#: The commands that only text leaves, which need no pyarrow.
_TEXT = ("ls", "tags", "export -o x.csv", "show")
_BESIDE = {"bare Python": "pass", "pyarrow": "import pyarrow", "pyarrow, duckdb": "import pyarrow, duckdb"}


@dataclass
class Fresh:
    """A new process each round, in the folder of the demo log."""

    command: list[str]
    folder: str
    answer: dict[str, Any] = field(default_factory=dict)

    def start(self) -> None:
        self.round()  # bytecode and the file cache

    def round(self) -> dict[str, Any]:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [sys.executable, *self.command],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"cpu": cpu, "wall": time.perf_counter() - began}

    def stop(self) -> None:
        pass


def run(bench: Bench) -> None:
    import tbq

    with tempfile.TemporaryDirectory() as folder:
        tbq.demo(Path(folder, "runs"))
        for name, arguments in _COMMANDS.items():
            beside = "bare Python" if name == "--help" else "pyarrow, duckdb" if name == "sql" else "pyarrow"
            contestants: dict[str, Contestant] = {
                "tbq": Fresh(["-m", "tbq", *arguments], folder),
                beside: Fresh(["-c", _BESIDE[beside]], folder),
            }
            title = f"start: tbq {name}"
            times = bench.time(title, contestants, rounds=9)
            want = "<= 3x" if name == "--help" else "<= 0.5x" if name in _TEXT else "<= 1.5x"
            bench.cost(title, times, "tbq", beside, want=want)
            if name in _TEXT:
                bench.cost(f"{title}, wall", times, "tbq", beside, want=want, clock="wall")
