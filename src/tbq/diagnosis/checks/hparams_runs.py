"""add_hparams created many sub-runs.

What it does
    Counts runs below another run that have hparams and each metric once, as `add_hparams` writes them.

Why it matters
    torch and tensorboardX create a sub-run, named after the time, for each call of `add_hparams`. Twenty or more of
    them bury the real runs in TensorBoard's list, and each is a directory to scan again and again.

What to do
    Call it once per run, or pass `run_name="."`. If each run has a single sub-run,
    `tbq rewrite LOGDIR -o NEW --flatten-hparams` folds it into the run above.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.sub_runs import of_add_hparams
from tbq.diagnosis.survey import Survey
from tbq.text import some

RULE = Rule("TBQ604", "hparams-runs", "info")


def check(survey: Survey) -> Findings:
    sub_runs = of_add_hparams(survey)
    count = sum(map(len, sub_runs.values()))
    if count >= 20:
        yield RULE.finding(
            f"add_hparams created {count:,} sub-runs, below {some(sorted(sub_runs))}",
            hint="tbq rewrite LOGDIR -o NEW --flatten-hparams folds single sub-runs into the runs above",
        )
