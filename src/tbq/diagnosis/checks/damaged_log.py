"""A log of another tracker is damaged, or cannot be read to its end.

What it does
    Reports damaged and unfinished records of `.wandb` files, databases that cannot be read, and lines of text logs that
    are not rows.

Why it matters
    The values in these places are lost. tbq reads everything else.

What to do
    Copy the file again. A database that another program has locked can be read once that program is done.
"""

from __future__ import annotations

from tbq.decode.problems import of_logs
from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey
from tbq.problems import is_damage

RULE = Rule("TBQ111", "damaged-log", "error")


def check(survey: Survey) -> Findings:
    if not any(run.remote is not None for run in survey.runs):
        return
    _ = survey.result  # reads the logs
    for problem in of_logs(survey.runs):
        if is_damage(problem):
            yield RULE.finding(
                problem.message,
                run=problem.run,
                path=problem.path,
                offset=problem.offset,
                hint=problem.hint or "copy the file again, if there is another copy of it",
            )
