"""Two trackers logged the same numbers.

What it does
    Finds text logs beside event files, such as Lightning's `metrics.csv`, and `.wandb` files of runs whose event files
    W&B synced.

Why it matters
    tbq does not read a text log beside event files, because it has the same numbers. It does read both the event files
    and the `.wandb` file of a synced run, so each number is there twice, in two runs.

What to do
    Nothing, or read one of them: `--source events`, `--source wandb` (`source=` in Python).
"""

from __future__ import annotations

from tbq.decode.problems import of_logs
from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ307", "two-formats", "info")


def check(survey: Survey) -> Findings:
    problems = list(survey.discovered.notes)
    if any(run.remote is not None for run in survey.runs):
        _ = survey.result  # reads the logs
        problems += of_logs(survey.runs)
    for problem in problems:
        if problem.code == "two_formats":
            yield RULE.finding(problem.message, run=problem.run, path=problem.path, hint=problem.hint)
