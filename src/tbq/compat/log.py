"""The logger that TensorBoard logs to: scripts set its level, and match on its messages."""

from __future__ import annotations

import logging

logger = logging.getLogger("tensorboard")
