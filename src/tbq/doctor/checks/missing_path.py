"""The path does not exist.

What it does
    Reports a path, or a pattern, that names nothing, when no event files are near it either.

Why it matters
    TensorBoard starts all the same with a directory that does not exist, and waits for it without a word.

What to do
    Check the spelling, and the directory that the path is relative to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.nearby import near

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ103", "missing-path", "error")


def check(look: Look) -> Iterator[Finding]:
    for missing in look.errors if not near(look) else []:
        if missing.code == "unreadable":  # TBQ108
            continue
        yield RULE.finding(
            missing.message,
            path=missing.path,
            hint=missing.hint or "check the spelling, and the directory that the path is relative to",
        )
