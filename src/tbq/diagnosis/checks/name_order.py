"""The files of a run are not in order of time when sorted by name.

What it does
    Finds tags whose files, sorted by name, were not written one after the other.

Why it matters
    TensorBoard reads the files of a run in order of name. If that is not the order of time (`….10` before `….2`,
    hosts whose clocks differ, renamed files), lines go back and forth, and its default loader drops points.
    tbq orders sessions by their wall times.

What to do
    `tbq rewrite LOGDIR -o NEW` merges the files in the right order; TensorBoard then shows all points.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.readers import effects
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ305", "name-order", "warning")


def check(survey: Survey) -> Findings:
    for run, _, effect in effects(survey, survey.misordered):
        yield RULE.finding(
            f"files sorted by name are not in order of time{effect}",
            run=run,
            hint="tbq rewrite LOGDIR -o NEW merges them in order of time",
        )
