"""A growing log directory as Delta tables: `tbq.lake.sync` keeps them up to date, `tbq.lake.open` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbq.lake.opening import open as open  # noqa: A004 - tbq.lake.open, as users read it
    from tbq.lake.syncing import Synced as Synced
    from tbq.lake.syncing import sync as sync

__all__ = ["Synced", "open", "sync"]

_LAZY = {"Synced": "tbq.lake.syncing", "open": "tbq.lake.opening", "sync": "tbq.lake.syncing"}


def __getattr__(name: str) -> Any:
    """Import a name on first use: `tbq sync` needs none of the modules that read a lake."""
    import importlib

    if name not in _LAZY:
        raise AttributeError(f"module 'tbq.lake' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
