"""The data of a record does not agree with its checksum.

What it does
    Finds records whose payload changed after it was written.

Why it matters
    TensorBoard's default loader does not check: it shows what the damaged bytes say, which may be a wrong value, step
    or tag. Its Python loader stops there, and the rest of the file is gone from view. tbq leaves out this record and
    goes on.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` leaves it out. Compare the file with the original if it is a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.damage import damage
from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ204", "bad-data", "error")


def check(look: Look) -> Iterator[Finding]:
    yield from damage(look, RULE, "bad_payload", "the data of a record does not agree with its checksum")
