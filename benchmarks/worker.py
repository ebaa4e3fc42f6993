"""Runs one contestant in its own process: prepares once, then runs a round for each line on stdin.

`python -m benchmarks.worker MODULE FUNCTION ARGUMENTS` calls `FUNCTION(*ARGUMENTS)` (JSON), which imports
what it needs and returns the function to time. If that has an attribute `before`, it is called before each
round, untimed. Each answer is a line of JSON: CPU and wall seconds, and a description of the result.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from typing import Any


def peak_memory(pid: int | str = "self") -> int | None:
    """Highest resident bytes of a process.

    Linux keeps a child's `ru_maxrss` from before its exec, so from its parent; the mark in /proc is its own.
    """
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        if pid == "self":
            import resource

            scale = 1 if sys.platform == "darwin" else 1024
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
    return None


def facts(result: object) -> dict[str, Any]:
    """A description of a result, for the table and to check that contestants did the same work."""
    if isinstance(result, dict):
        return result
    found: dict[str, Any] = {}
    if hasattr(result, "__len__"):
        found["rows"] = len(result)
    nbytes = getattr(result, "nbytes", None)
    if isinstance(nbytes, int):
        found["nbytes"] = nbytes
    return found


def main() -> None:
    module, function, arguments = sys.argv[1:]
    # Output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    timed = getattr(importlib.import_module(module), function)(*json.loads(arguments))
    before = getattr(timed, "before", None)
    answers.write("ready\n")
    answers.flush()
    for _ in sys.stdin:
        if before is not None:
            before()
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        result = timed()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        answer = {"cpu": cpu, "wall": wall, "peak": peak_memory(), **facts(result)}
        del result
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
