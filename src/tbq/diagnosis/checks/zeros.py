"""There are zeros instead of a record.

What it does
    Finds blocks of zero bytes between records.

Why it matters
    Network file systems and power failures leave them: the length of the file was stored, its data was not.
    TensorBoard stops at the first of them and never shows the rest. tbq reads on after them.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` removes them. On NFS, write to a local disk and copy.
"""

from __future__ import annotations

from tbq.diagnosis.damage import damage
from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ205", "zeros", "error")


def check(survey: Survey) -> Findings:
    yield from damage(survey, RULE, "zeros")
