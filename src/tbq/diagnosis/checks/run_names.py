"""Names of runs collide.

What it does
    Finds runs whose names differ only in case, and paths given together that have a run of the same name.

Why it matters
    On macOS and Windows such runs are the same directory: copied there, one overwrites the other. In TensorBoard's
    list they are hard to tell apart.

What to do
    Rename one: `tbq rewrite LOGDIR -o NEW --rename-run Exp1=exp1_old`. Give paths different names:
    `a:first b:second`.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey
from tbq.text import shell_word, some

RULE = Rule("TBQ601", "run-names", "warning")


def check(survey: Survey) -> Findings:
    if survey.clash is not None:
        yield RULE.finding(survey.clash.message, hint=survey.clash.hint)
    names = [run.name for run in survey.runs]
    lower = {name.casefold() for name in names}
    if len(lower) == len(names):
        return
    by_name: dict[str, list[str]] = {}
    for name in names:
        by_name.setdefault(name.casefold(), []).append(name)
    for same in by_name.values():
        if len(same) > 1:
            yield RULE.finding(
                f"differs only in case from {some(same[1:])}",
                run=same[0],
                hint=f"tbq rewrite LOGDIR -o NEW --rename-run {shell_word(same[1])}=NAME",
            )
