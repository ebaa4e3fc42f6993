"""add_scalars created many runs, one per line.

What it does
    Counts runs that have a single tag and are named after it, as `add_scalars` of torch and tensorboardX creates them
    below another run.

Why it matters
    `add_scalars("loss", {"train": …, "val": …})` opens a writer, a file and a run for each key. Ten or more of them
    crowd TensorBoard's list, and each costs a thread in the training process.

What to do
    Use `add_scalar("loss/train", …)`: TensorBoard shows tags with the same prefix side by side.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.sub_runs import of_add_scalars
from tbq.diagnosis.survey import Survey
from tbq.text import some

RULE = Rule("TBQ703", "add-scalars", "info")

_MANY = 10


def check(survey: Survey) -> Findings:
    for parent, lines in of_add_scalars(survey).items():
        if len(lines) >= _MANY:
            yield RULE.finding(
                f"add_scalars created {len(lines):,} runs below it: {some(lines)}",
                run=parent,
                hint='use add_scalar("loss/train", …) instead',
            )
