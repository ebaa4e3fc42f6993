"""A file is named like an event file, but contains no event.

What it does
    Finds files with `tfevents` in their name that contain no valid record.

Why it matters
    TensorBoard opens them because of their name, fails, and says so only in its log. Examples: notes and `.meta` files
    of other tools, downloads that are an HTML page, encrypted or overwritten files.

What to do
    Fetch the file again from its origin, or rename it so that `tfevents` is not in its name.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ107", "not-events", "warning")


def check(survey: Survey) -> Findings:
    for index in survey.state("not_events"):
        yield RULE.finding(
            f"is not an event file: its {survey.files['bytes'][index]:,} bytes contain no record",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            hint="fetch it again from its origin, or rename it",
        )
