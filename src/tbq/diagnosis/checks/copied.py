"""A run has a copy of one of its event files.

What it does
    Finds event files whose bytes another event file of the same directory has too: copies, older backups, and
    compressed copies. Of objects in a store it finds those with the same MD5.

Why it matters
    TensorBoard reads both, as if two writers had logged the same at the same time. tbq reads one of them.

What to do
    Remove the copy, or move it to another directory.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ306", "copied", "warning")


def check(survey: Survey) -> Findings:
    for copy in survey.discovered.copies:
        yield RULE.finding(copy.message, run=copy.run, path=copy.path, hint=copy.hint)
