"""An event file is a Git LFS pointer.

What it does
    Finds files that contain a Git LFS pointer instead of events.

Why it matters
    The repository was cloned without Git LFS, so only the pointers were downloaded. Every reader takes them for damage.

What to do
    `git lfs install && git lfs pull`
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ106", "git-lfs", "error")


def check(survey: Survey) -> Findings:
    for index in survey.state("git_lfs"):
        yield RULE.finding(
            "is a Git LFS pointer, not the file itself",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            hint="git lfs install && git lfs pull",
        )
