"""There are bytes between records that belong to no record.

What it does
    Finds stretches without a valid record that are followed by valid records: a record that was cut off before more
    were appended, text, or blocks of another file.

Why it matters
    A job that was killed in the middle of a record and resumed into the same file leaves this; so do two writers
    of one file. TensorBoard stops there and never shows the rest. tbq reads on after it.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` removes it. Let each process write its own file.
"""

from __future__ import annotations

from tbq.diagnosis.damage import damage
from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ206", "garbage", "error")


def check(survey: Survey) -> Findings:
    yield from damage(survey, RULE, "garbage", "bytes that are not a record, followed by records")
