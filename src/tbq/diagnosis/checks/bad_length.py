"""The header of a record is damaged, but its data is not.

What it does
    Finds records whose length does not match its checksum while everything around them is valid: a few bytes
    changed.

Why it matters
    TensorBoard stops there and never shows the rest of the file, without a message in the UI. tbq reads on after it;
    one record is lost.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` removes it, and TensorBoard shows the rest again. Bytes that change by
    themselves point to a bad disk, bad memory or a bad copy: compare checksums with the original.
"""

from __future__ import annotations

from tbq.diagnosis.damage import damage
from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ203", "bad-length", "error")


def check(survey: Survey) -> Findings:
    yield from damage(survey, RULE, "bad_length")
