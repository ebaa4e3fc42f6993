"""The event files are in another directory.

What it does
    If a path has no event files, or does not exist, looks for some beside it and a few levels above and below.

Why it matters
    A writer with a relative log_dir writes below the working directory of the process. Notebooks, job schedulers and
    Hydra change that directory; `runs/runs/exp1` and `outputs/…/runs` are typical results.

What to do
    Pass the directory of the finding to TensorBoard and tbq, or give the writer an absolute path.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.nearby import near
from tbq.diagnosis.survey import Survey
from tbq.text import shell_word, some

RULE = Rule("TBQ102", "wrong-directory", "error")


def check(survey: Survey) -> Findings:
    folders = near(survey)
    if not folders:
        return
    path = survey.named_paths[0]
    state = "does not exist" if survey.errors else "has no event files"
    yield RULE.finding(
        f"{state}, but there are event files below {some(folders)}",
        path=path,
        hint=f"look there: tbq doctor {shell_word(folders[0])}",
    )
