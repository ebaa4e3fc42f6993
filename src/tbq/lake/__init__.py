"""A growing log directory as Delta tables: `tbq.lake.sync` keeps them up to date, `tbq.lake.open` reads them."""

from __future__ import annotations

from tbq.lake.opened import open  # noqa: A004 - tbq.lake.open, as users read it
from tbq.lake.syncing import Synced, sync

__all__ = ["Synced", "open", "sync"]
