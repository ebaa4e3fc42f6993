"""A file ends inside a record and is being written.

What it does
    Finds files whose last record is incomplete and that changed within the last minutes, or that a process has open for
    writing (on systems that tell).

Why it matters
    This is normal during a run. The rest of the record follows with the next flush.

What to do
    Nothing.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ201", "still-writing", "info")


def check(survey: Survey) -> Findings:
    for index in survey.rows(survey.unfinished):
        if survey.being_written(index):
            yield RULE.finding(
                f"ends in an unfinished record of {survey.files['truncated'][index]:,} bytes, and is being written",
                run=survey.run_of_file(index),
                path=survey.paths[index],
                offset=int(survey.files["resume"][index]),
                hint="nothing to do: the rest follows with the next flush",
            )
