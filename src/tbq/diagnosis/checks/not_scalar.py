"""Values logged as scalars are not single numbers.

What it does
    Finds tags of the scalars plugin whose tensors have no element, or several.

Why it matters
    TensorBoard's Python loader fails on the whole tag, its default loader shows nothing of it. tbq puts them in
    the tensors table.

What to do
    Reduce to one number before logging (`.mean()`), or log a histogram or a tensor.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ505", "not-scalar", "warning")


def check(survey: Survey) -> Findings:
    for series in survey.rows((survey.series["refused"] > 0) & survey.is_kind("tensors")):
        yield RULE.finding(
            f"{survey.series['refused'][series]:,} values logged as scalars are not single numbers: "
            "TensorBoard does not show them",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="reduce to one number before logging; tbq puts them in the tensors table",
        )
