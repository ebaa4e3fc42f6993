"""An event file is compressed.

What it does
    Finds event files that are gzip or zlib streams.

Why it matters
    tbq reads them, TensorBoard does not: it logs an error and shows nothing.

What to do
    `tbq rewrite LOGDIR -o NEW` writes them uncompressed; so does gunzip.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ109", "compressed", "warning")


def check(survey: Survey) -> Findings:
    for index in survey.rows(survey.files["compressed"] > 0):
        yield RULE.finding(
            "is compressed: tbq reads it, TensorBoard does not",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            hint="tbq rewrite LOGDIR -o NEW writes it uncompressed",
        )
