"""Two writers wrote to the same file.

What it does
    Finds files in which the steps of a tag decrease across parts of records, and nowhere else: another process wrote
    the data after them. Losses there are separate findings. A single damaged record does not count.

Why it matters
    tensorboardX names its files only by time and host, so that two writers that start in the same second truncate
    each other's file and both write to it, each at its own position. Overwritten records are lost.

What to do
    Give each process its own directory, or a `filename_suffix`. `tbq rewrite LOGDIR -o NEW --repair` keeps the intact
    records.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ303", "overwritten", "error")


def check(survey: Survey) -> Findings:
    for index, offset in survey.overwritten.items():
        yield RULE.finding(
            "the steps of a tag decrease after a damaged place: two writers overwrote each other in this file",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            offset=offset,
            hint="give each writer its own directory; to keep the intact records: tbq rewrite LOGDIR -o NEW --repair",
        )
