"""The data of a record does not match its checksum.

What it does
    Finds records whose payload changed after it was written.

Why it matters
    TensorBoard's default loader does not check: it shows the damaged bytes, which may be a wrong value, step or tag.
    Its Python loader stops there and shows nothing of the rest of the file. tbq skips this record and reads on.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` removes it. If the file is a copy, compare it with the original.
"""

from __future__ import annotations

from tbq.diagnosis.damage import damage
from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ204", "bad-data", "error")


def check(survey: Survey) -> Findings:
    yield from damage(survey, RULE, "bad_payload")
