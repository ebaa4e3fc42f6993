"""The C++ parts of the benchmarks, compiled with the system's compiler when they are needed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "data" / "bin"
FLAGS = ["-std=c++20", "-O3", "-march=native", "-Wall", "-Wextra"]


def build(source: str, *flags: str) -> Path:
    """Compile `source`, a file beside this one, if it changed since the last time; returns the result."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise SystemExit("benchmarks: no C++ compiler found; install one or set CXX")
    target = BUILT / Path(source).stem
    inputs = [HERE / source, HERE / "crc.hpp"]
    if target.exists() and all(target.stat().st_mtime > path.stat().st_mtime for path in inputs):
        return target
    BUILT.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(f".{os.getpid()}")
    subprocess.run([compiler, *FLAGS, *flags, str(HERE / source), "-o", str(fresh)], check=True)
    return fresh.replace(target)
