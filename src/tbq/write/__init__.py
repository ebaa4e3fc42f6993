"""Writing event files: `SummaryWriter`, a drop-in for torch's and tensorboardX's."""

from __future__ import annotations

from tbq.write.writer import SummaryWriter

__all__ = ["SummaryWriter"]
