"""A sound record holds something that is no event.

What it does
    Finds records with correct checksums whose content is not an Event: protobuf cannot parse it.

Why it matters
    The writer wrote it this way: another kind of TFRecord was appended, or the writer has a fault. TensorBoard's
    default loader stops at it; its Python loader fails on the whole run.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` takes it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.damage import damage
from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ207", "bad-event", "error")


def check(look: Look) -> Iterator[Finding]:
    yield from damage(look, RULE, "bad_event", "a sound record whose event cannot be decoded")
