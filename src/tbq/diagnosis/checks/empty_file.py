"""An event file is empty.

What it does
    Finds event files of size zero.

Why it matters
    The writer created the file and wrote nothing: it was stopped right after its start, the disk or quota was full, or
    a copy was interrupted. TensorBoard shows nothing and says nothing. If other files of the run have data, this is
    only a note.

What to do
    Check the disk (`df -h`, `quota`) and the log of the process; copy the file again. You can delete it.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ105", "empty-file", "warning")


def check(survey: Survey) -> Findings:
    empty = survey.state("empty")
    if not empty:
        return
    filled = set(survey.files["run"][survey.files["values"] > 0].tolist())
    for index in empty:
        yield RULE.finding(
            "is empty: its writer was stopped before it wrote anything, or the disk was full",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            hint="check the disk and the log of the process; you can delete the file",
            severity="info" if int(survey.files["run"][index]) in filled else None,
        )
