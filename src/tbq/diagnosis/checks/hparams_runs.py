"""TensorBoard lists the directories of add_hparams as runs.

What it does
    Counts the directories below a run that have hparams and each metric once, as `add_hparams` writes them.

Why it matters
    torch and tensorboardX create a directory, named after the time, for each call of `add_hparams`. tbq counts it as
    part of the run above, unless the run has several with different hyperparameters. TensorBoard lists each as a run:
    twenty or more of them bury the real runs.

What to do
    For tbq, nothing. For TensorBoard, call `add_hparams` once per run with `run_name="."`; for a log with a single
    such directory per run, `tbq rewrite LOGDIR -o NEW --flatten-hparams` moves its content into the run above.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey
from tbq.text import counted, some

RULE = Rule("TBQ604", "hparams-runs", "info")


def check(survey: Survey) -> Findings:
    sub_runs = survey.of_add_hparams
    count = sum(map(len, sub_runs.values()))
    if count < 20:
        return
    folded = len(survey.run_above)
    if folded:
        yield RULE.finding(
            f"{counted(folded, 'sub-run')} of add_hparams: "
            "tbq counts them as part of the runs above, TensorBoard as runs",
            hint="nothing to do for tbq; for TensorBoard: tbq rewrite LOGDIR -o NEW --flatten-hparams",
        )
    if folded < count:
        apart = sorted(run for run, subs in sub_runs.items() if survey.run_above.keys().isdisjoint(subs))
        yield RULE.finding(
            f"{counted(count - folded, 'sub-run')} of add_hparams with different hyperparameters: "
            f"runs of their own, below {some(apart)}",
            hint="nothing if they are trials; else call add_hparams once per run",
        )
