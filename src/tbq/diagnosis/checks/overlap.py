"""Two writers logged the same tags into one directory at the same time.

What it does
    Finds tags of a run that two sessions logged over the same period.

Why it matters
    Several processes (all ranks of a distributed job, two jobs with one log_dir) share a run. TensorBoard draws one
    line back and forth through the points of both; its default loader drops about half of them. tbq keeps all.

What to do
    Give each process its own directory (`runs/exp1/rank0`), or log from rank 0 only. Existing files can be moved apart:
    each writer has its own file.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.readers import effects
from tbq.diagnosis.survey import Survey
from tbq.text import some

RULE = Rule("TBQ301", "overlap", "warning")


def check(survey: Survey) -> Findings:
    for run, together, effect in effects(survey, survey.overlapping):
        yield RULE.finding(
            f"two writers at the same time logged {some([survey.tags[series] for series in together])}{effect}",
            run=run,
            hint="give each process its own directory, or log from only one of them",
        )
