"""A metric reached the largest float32.

What it does
    Finds values of about ±3.4e38, the limits of float32.

Why it matters
    A value was clipped to float32, or an initial "infinity" of that size was logged. It ruins the scale of every plot.

What to do
    Log nothing until there is a real value, or log it as float64 (a tensor).
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.rows import grouped
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ503", "saturated", "warning")


def check(survey: Survey) -> Findings:
    import numpy as np

    values, steps = survey.scalars["value"], survey.scalars["step"]
    with np.errstate(invalid="ignore"):
        rows = ((np.abs(values) >= 3.4028234e38) & np.isfinite(values)).nonzero()[0]
    for series, extreme in grouped(survey, rows):
        yield RULE.finding(
            f"is at the limit of float32 at {len(extreme):,} points, first at step {steps[extreme[0]]:,}",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="log nothing until there is a real value",
        )
