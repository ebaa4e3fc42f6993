"""There are no event files at this path or near it.

What it does
    Looks for files with `tfevents` in their name, in the directory and everything below it, and then around it.

Why it matters
    TensorBoard shows "No dashboards are active" and gives no reason. Most often the writer was never created,
    its process died before it wrote anything, or it wrote somewhere else because a relative path was resolved in
    another working directory.

What to do
    Print the absolute path where the writer is created: `print(os.path.abspath(writer.log_dir))`. Call
    `writer.close()`, or at least `writer.flush()`, at the end of training.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.nearby import near
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ101", "no-event-files", "error")


def check(survey: Survey) -> Findings:
    if survey.errors or survey.clash or survey.runs or near(survey):
        return
    for path in survey.discovered.paths:
        if survey.discovered.problems:  # they may be in a directory that could not be listed
            continue
        what = (
            f"none of its {survey.discovered.others:,} files is an event file"
            if survey.discovered.others
            else "it is empty"
        )
        yield RULE.finding(
            f"no event files here: {what}",
            path=path,
            hint="print the writer's absolute log_dir, and look there",
        )
