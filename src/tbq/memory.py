"""Returns free memory to the system, for processes that run forever in rounds."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

# Parameters of mallopt.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8


def give_back() -> None:
    """Return free memory to the system. Allocators keep it for reuse, separately for each thread. With threads that
    come and go, it would grow every round, however little is in use."""
    from tbq import _core

    _core.release_memory()
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None:
        pyarrow.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


def keep_little() -> None:
    """Make allocators keep little free memory, so that `give_back` can return it. For a process that does nothing else.

    Arrow's pools keep some memory for each thread. glibc has one heap per thread, and keeps blocks of up to 32 MB in it
    as long as small blocks follow them.
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
    """glibc's `malloc_trim`; None on other systems."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
