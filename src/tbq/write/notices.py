"""Warnings that point at the caller's line, and the name of that line."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from tbq.errors import TbqWarning

_HERE = str(Path(__file__).parent)


def _caller_level() -> int:
    """The stack level, as `warnings.warn` counts from our caller, of the first frame outside the package."""
    level = 1
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
        level += 1
    return level


def warn(message: str) -> None:
    """Warn at the line of the user's code that called into the writer."""
    warnings.warn(message, TbqWarning, stacklevel=_caller_level() + 1)


def caller() -> str:
    """`file:line` of the user's code that called into the writer."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
