"""The header of a record is damaged, its data is not.

What it does
    Finds records whose length does not agree with its checksum while everything around them is sound: a few bytes
    changed.

Why it matters
    TensorBoard stops at it: the rest of the file is gone, for good and without a word in the UI. tbq goes on behind
    it; one record is lost.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` leaves it out, and TensorBoard shows the rest again. Bytes that change by
    themselves mean a bad disk, bad memory or a bad copy: compare checksums with the original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.damage import damage
from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ203", "bad-length", "error")


def check(look: Look) -> Iterator[Finding]:
    yield from damage(look, RULE, "bad_length", "the length of a record does not agree with its checksum")
