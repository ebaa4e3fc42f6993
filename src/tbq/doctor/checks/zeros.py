"""There are zeros where a record should start.

What it does
    Finds blocks of zero bytes between records.

Why it matters
    Network file systems and hosts that lost power leave them: the file's length was stored, its data was not.
    TensorBoard stops at the first of them for good. tbq goes on behind them.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` takes them out. On NFS, write to a local disk and copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.damage import damage
from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ205", "zeros", "error")


def check(look: Look) -> Iterator[Finding]:
    yield from damage(look, RULE, "zeros", "zeros where a record should start")
