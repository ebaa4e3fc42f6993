"""Limits the memory of this process, by ending it if necessary."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path

EXIT = 77  # the exit status of a process that took too much memory
_STACK = 8 << 20  # bytes of address space of a thread
_EVERY = 0.02  # seconds between two checks
_STATM = Path("/proc/self/statm")  # of Linux, in pages: all, resident, …, data
_PAGE = 4096 if os.name == "nt" else os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Bytes of memory that this process uses now; on some systems, the most it ever used."""
    if os.name == "nt":
        return _of_windows()
    if _STATM.exists():
        return int(_STATM.read_bytes().split()[1]) * _PAGE
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class MemoryLimit:
    """Ends the process if it uses this many bytes more than now.

    On Linux, an allocation beyond the limit fails with an error. Otherwise a thread ends the process, because native
    code that computes a single value cannot be stopped in any other way.
    """

    def __init__(self, more: int) -> None:
        self._more = more
        self._ended = threading.Event()

    def _watch(self, most: int) -> None:
        while not self._ended.wait(_EVERY):
            if resident() > most:
                os._exit(EXIT)

    def __enter__(self) -> MemoryLimit:
        _refuse(self._more)
        most = resident() + self._more
        threading.Thread(target=self._watch, args=(most,), name="tbq memory", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()


def _refuse(more: int) -> None:
    """Make allocations fail that exceed the current ones by this many bytes; only Linux counts them."""
    if not _STATM.exists():
        return
    import resource

    # Stacks of threads count entirely. DuckDB and tbq's decoder have one thread per CPU each.
    data = int(_STATM.read_bytes().split()[5]) * _PAGE + 2 * _STACK * (os.cpu_count() or 1)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = data + more if hard == resource.RLIM_INFINITY else min(data + more, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _of_windows() -> int:  # pragma: no cover - Windows
    import ctypes
    from ctypes import wintypes

    class Counters(ctypes.Structure):
        _fields_ = [("cb", wintypes.DWORD), ("faults", wintypes.DWORD),
                    *((name, ctypes.c_size_t) for name in ("peak", "working", "peak_paged", "paged", "peak_pool",
                                                           "pool", "pagefile", "peak_pagefile"))]  # fmt: skip

    counters = Counters()
    counters.cb = ctypes.sizeof(counters)
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    kernel.GetCurrentProcess.restype = wintypes.HANDLE
    kernel.K32GetProcessMemoryInfo.argtypes = [wintypes.HANDLE, ctypes.c_void_p, wintypes.DWORD]
    if not kernel.K32GetProcessMemoryInfo(kernel.GetCurrentProcess(), ctypes.byref(counters), counters.cb):
        return 0
    return int(counters.pagefile)
