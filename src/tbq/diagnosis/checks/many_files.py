"""A run consists of many tiny files.

What it does
    Finds runs of 20 or more files if most of these have at most 10 records.

Why it matters
    The code creates a writer for each step or epoch, and often does not close it. TensorBoard opens all of the files,
    slowly, and reads them in order of name, in which `.10` comes before `.2`: its default loader then drops points.

What to do
    Create the writer once, outside the loop. `tbq rewrite LOGDIR -o NEW` merges the existing files in order of time.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ302", "many-files", "warning")


def check(survey: Survey) -> Findings:
    import numpy as np

    files = survey.files
    counts = np.bincount(files["run"], minlength=len(survey.runs))
    small = np.bincount(files["run"][files["records"] <= 10], minlength=len(survey.runs))
    for run in survey.rows((counts >= 20) & (small * 2 > counts)):
        yield RULE.finding(
            f"consists of {counts[run]:,} files, {small[run]:,} of them with at most 10 records: "
            "a writer was opened again and again",
            run=survey.runs[run].name,
            hint="create the writer once; to merge the files: tbq rewrite LOGDIR -o NEW",
        )
