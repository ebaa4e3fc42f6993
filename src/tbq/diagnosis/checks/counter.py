"""A counter is too large for float32.

What it does
    Finds tags of ever larger whole numbers, stored as float32, that exceed 16,777,216.

Why it matters
    Above 2^24 float32 holds only every second whole number, then every fourth: counts of samples or tokens are
    rounded.

What to do
    Log the count in millions, or use a float64 or int64 tensor.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ504", "counter", "info")


def check(survey: Survey) -> Findings:
    import numpy as np

    which, starts = survey.scalar_series
    if len(which) == 0:
        return
    values = survey.scalars["value"]
    largest = np.maximum.reduceat(values, starts[:-1])
    narrow = survey.is_dtype("", "float32")[which]
    for place in survey.rows(narrow & np.isfinite(largest) & (largest > 2**24) & (np.diff(starts) >= 3)):
        counts = values[starts[place] : starts[place + 1]]
        if largest[place] < 1e30 and (counts == np.floor(counts)).all() and (np.diff(counts) > 0).all():
            series = int(which[place])
            first = int(survey.scalars["step"][starts[place] + int((counts > 2**24).argmax())])
            yield RULE.finding(
                f"exceeds 16,777,216 from step {first:,} on, where float32 rounds whole numbers",
                run=survey.run_of(series),
                tag=survey.tags[series],
                hint="log it in thousands or millions",
            )
