"""There are bytes between records that are none.

What it does
    Finds stretches that hold no sound record, with sound records behind them: a record that was cut off and written
    on behind, text, or another file's blocks.

Why it matters
    A job that was killed in the middle of a record and resumed into the same file leaves this; so do two writers
    on one file. TensorBoard stops there for good. tbq goes on behind it.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` takes it out. Let each process write a file of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.damage import damage
from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ206", "garbage", "error")


def check(look: Look) -> Iterator[Finding]:
    yield from damage(look, RULE, "garbage", "bytes that are no record, with records behind them")
