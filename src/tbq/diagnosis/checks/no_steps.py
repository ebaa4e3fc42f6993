"""A tag is logged at the same step again and again.

What it does
    Finds tags with 5 or more values whose step never changes.

Why it matters
    `global_step` was forgotten: torch then writes step 0 each time. TensorBoard's default loader shows only
    one of the points.

What to do
    Pass the step: `writer.add_scalar("loss", loss, step)`. In an existing log the values are in order: read them
    with `restarts="keep"`, or plot them over wall_time.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ404", "no-steps", "warning")


def check(survey: Survey) -> Findings:
    series = survey.series
    stuck = (series["count"] >= 5) & (series["min_step"] == series["max_step"])
    stuck &= survey.is_kind("scalars", "histograms", "images", "audio")
    for index in survey.rows(stuck):
        yield RULE.finding(
            f"all {series['count'][index]:,} values are at step {series['min_step'][index]:,}: "
            "TensorBoard shows one of them; the step was not passed",
            run=survey.run_of(index),
            tag=survey.tags[index],
            hint='pass the step: writer.add_scalar("loss", loss, step)',
        )
