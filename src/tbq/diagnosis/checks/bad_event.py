"""A valid record does not contain an event.

What it does
    Finds records with correct checksums whose content is not an Event: protobuf cannot parse it.

Why it matters
    The writer wrote it like this: another kind of TFRecord was appended, or the writer has a bug. TensorBoard's
    default loader stops there; its Python loader fails on the whole run.

What to do
    `tbq rewrite LOGDIR -o NEW --repair` removes it.
"""

from __future__ import annotations

from tbq.diagnosis.damage import damage
from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ207", "bad-event", "error")


def check(survey: Survey) -> Findings:
    yield from damage(survey, RULE, "bad_event")
