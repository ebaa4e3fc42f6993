"""A metric never changes.

What it does
    Finds tags named like a metric (loss, accuracy, reward, …) whose 20 or more values are all the same. A learning
    rate, a momentum or a memory size may well be constant.

Why it matters
    The metric is never updated, or the model does not learn.

What to do
    Check that the code logs the value it computes.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey
from tbq.roles import is_metric

RULE = Rule("TBQ502", "constant", "info")


def check(survey: Survey) -> Findings:
    import numpy as np

    which, starts = survey.scalar_series
    if len(which) == 0:
        return
    values = survey.scalars["value"]
    same = np.minimum.reduceat(values, starts[:-1]) == np.maximum.reduceat(values, starts[:-1])
    same &= np.isfinite(values[starts[:-1]]) & (np.diff(starts) >= 20)
    for place in survey.rows(same):
        series = int(which[place])
        if not is_metric(survey.tags[series]):
            continue
        yield RULE.finding(
            f"is {values[starts[place]]:.6g} at all of its {starts[place + 1] - starts[place]:,} points",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="check that the code logs the value it computes",
        )
