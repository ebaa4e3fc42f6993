"""add_scalars has made many runs, one for each line.

What it does
    Counts runs that hold one tag and are named after it, as torch's and tensorboardX's `add_scalars` make them below
    another run.

Why it matters
    `add_scalars("loss", {"train": …, "val": …})` opens a writer, a file and a run for each key. From 10 on they crowd
    TensorBoard's list, and each costs a thread in the training process.

What to do
    Use `add_scalar("loss/train", …)`: TensorBoard draws tags with one prefix side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.look import Look, some
from tbq.doctor.sub_runs import of_add_scalars

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = Rule("TBQ703", "add-scalars", "info")

_MANY = 10


def check(look: Look) -> Iterator[Finding]:
    for parent, lines in of_add_scalars(look).items():
        if len(lines) >= _MANY:
            yield RULE.finding(
                f"add_scalars made {len(lines):,} runs below it: {some(lines)}",
                run=parent,
                hint='use add_scalar("loss/train", …) instead',
            )
