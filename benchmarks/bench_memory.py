"""The memory of commands on 100,000 runs with 30 million scalars: it should depend on the answer, not on the log."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.harness import Bench

_MOST = 500e6
# The process in between is small, because Linux carries a parent's peak memory across the exec.
_CODE = """
import json, resource, subprocess, sys
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
done = subprocess.run([sys.executable, "-m", "tbq", *sys.argv[1:]], **quiet)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, used.ru_maxrss * 1024, used.ru_utime + used.ru_stime]))
"""


def run(bench: Bench) -> None:
    if bench.quick:
        return
    path = bench.corpus("runs100000")
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        commands = {
            "ls": [], "tags": [], "summary": [], "doctor": [], "export": ["-o", f"{scratch}/out.parquet"],
        }  # fmt: skip
        for name, more in commands.items():
            command = [sys.executable, "-c", _CODE, name, str(path), *more]
            answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            code, peak, cpu = json.loads(answer)
            assert code in (0, 1), name
            what = f"memory of {name}, 100,000 runs"
            bench.add(what, f"{peak / 1e6:,.0f} MB, CPU {cpu:.1f} s", "500 MB", peak / _MOST, "<= 1x")
