"""The path does not exist.

What it does
    Reports a path or pattern that matches nothing, if there are no event files near it either.

Why it matters
    TensorBoard starts even if the directory does not exist, and waits for it without a message.

What to do
    Check the spelling, and the directory that the path is relative to.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.nearby import near
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ103", "missing-path", "error")


def check(survey: Survey) -> Findings:
    for missing in survey.errors if not near(survey) else []:
        if missing.code == "unreadable":  # TBQ108
            continue
        yield RULE.finding(
            missing.message,
            path=missing.path,
            hint=missing.hint or "check the spelling, and the directory that the path is relative to",
        )
