"""Integers are too large for float64.

What it does
    Finds int64 and uint64 scalars above 2^53.

Why it matters
    The scalars table holds float64, as TensorBoard does, so such values are rounded.

What to do
    The exact values are in the tensors table.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ507", "rounded", "info")


def check(survey: Survey) -> Findings:
    for series in survey.rows((survey.series["rounded"] > 0) & survey.is_kind("scalars")):
        yield RULE.finding(
            f"{survey.series['rounded'][series]:,} integers above 2^53 are rounded",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="the exact values are in the tensors table",
        )
