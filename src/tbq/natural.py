"""Natural order: names with digits compared as numbers."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, int | str]]:
    """A sort key that compares digits as numbers.

    >>> sorted(["run10", "run9", "run"], key=natural)
    ['run', 'run9', 'run10']
    """
    parts = _DIGITS.split(name)
    return [(0, int(part)) if part.isdigit() and part.isascii() else (1, part) for part in parts]
