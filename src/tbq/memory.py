"""Memory given back to the system by processes that work again and again for ever."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

# Parameters of mallopt.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8


def give_back() -> None:
    """Give back what is free. Allocators keep that for later, one share per thread: beside threads that come and go, it
    grows with every round, whatever is in use."""
    from tbq import _core

    _core.release_memory()
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None:
        pyarrow.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


def keep_little() -> None:
    """Let allocators keep little for later, so that `give_back` reaches it: for a process that does nothing else.

    Arrow's pools keep some for each thread. glibc has one heap per thread, and lets blocks of up to 32 MB lie in them,
    with small ones after them.
    """
    import pyarrow as pa

    if _trim() is None:
        return
    pa.set_memory_pool(pa.system_memory_pool())
    glibc = ctypes.CDLL(None)
    for parameter, value in ((_MMAP_THRESHOLD, 1 << 18), (_ARENA_MAX, 2)):
        glibc.mallopt(parameter, value)


@cache
def _trim() -> Any:
    """The function of glibc; None elsewhere."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
