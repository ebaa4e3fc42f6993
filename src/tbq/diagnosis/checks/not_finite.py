"""A metric is NaN or infinite.

What it does
    Finds tags with NaN or infinite values: from which step on, how many, and whether the metric recovers.

Why it matters
    Training diverged, or a mean includes a division by zero. TensorBoard draws triangles or nothing; smoothing hides
    it; JSON and many tools cannot represent such values.

What to do
    Look at the last finite values, and at the learning rate and gradients before the first step of the finding.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.rows import grouped
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ501", "not-finite", "warning")


def check(survey: Survey) -> Findings:
    import numpy as np

    values, steps = survey.scalars["value"], survey.scalars["step"]
    bad = ~np.isfinite(values)
    affected = list(grouped(survey, bad.nonzero()[0]))
    first: dict[str, int] = {}  # each run's first such step, over all of its tags
    for series, rows in affected:
        run, step = survey.run_of(series), int(steps[rows[0]])
        first[run] = min(first.get(run, step), step)
    for series, rows in affected:
        all_rows = survey.rows_of(series)
        nan = int(np.isnan(values[rows]).sum())
        kinds = " and ".join(word for word, any_ in (("NaN", nan > 0), ("Inf", nan < len(rows))) if any_)
        on = bad[rows[0] : all_rows.stop].all()
        rest = "until the end" if on else f"at {len(rows):,} of {all_rows.stop - all_rows.start:,} points"
        yield RULE.finding(
            f"is {kinds} from step {steps[rows[0]]:,} on, {rest}"
            if on
            else f"is {kinds} first at step {steps[rows[0]]:,}, {rest}",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint=f"look at the learning rate and gradients before step {first[survey.run_of(series)]:,}",
        )
