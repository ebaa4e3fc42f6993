"""A file has no version record.

What it does
    Finds event files with values but without a `file_version` record.

Why it matters
    The first record is missing (the start of the file was cut off), or an old writer (tensorboard-pytorch of 2017)
    never wrote one. TensorBoard's Python loader then takes any decrease of the step, in any tag, for a restart and
    drops points.

What to do
    Nothing if steps only increase. Otherwise use TensorBoard's default loader, or tbq.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ702", "file-version", "warning")


def check(survey: Survey) -> Findings:
    bare = (survey.files["versioned"] == 0) & (survey.files["values"] > 0)
    for index in survey.rows(bare):
        yield RULE.finding(
            "has no file_version record: its start was cut off, or an old writer wrote it; TensorBoard's Python "
            "loader drops points wherever steps decrease",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            hint="use TensorBoard's default loader, or tbq",
        )
