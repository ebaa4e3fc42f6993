"""Reading a file stopped with a system error.

What it does
    Reports files that could be opened but not read to the end.

Why it matters
    The disk is failing, or a network file system went away. What comes after that place is unknown.

What to do
    Read the system's log (`dmesg`), and copy the file while that is still possible.
"""

from __future__ import annotations

import os

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ208", "read-failed", "error")


def check(survey: Survey) -> Findings:
    for index in survey.rows((survey.files["error"] != 0) & (survey.files["state"] == 0)):
        report = survey.reports[index]
        yield RULE.finding(
            f"reading stopped: {os.strerror(report.error).lower()}",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            offset=report.resume,
            hint="read the system's log (dmesg), and copy the file while you can",
        )
