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
    first: dict[str, int] = {}  # each run's first step with such a value, over all of its curves
    runs = [survey.run_above.get(run, run) for run in (survey.run_of(series) for series, _ in affected)]
    for run, (series, rows) in zip(runs, affected, strict=True):
        if survey.series["count"][series] > 1:
            first[run] = min(first.get(run, int(steps[rows[0]])), int(steps[rows[0]]))
    for run, (series, rows) in zip(runs, affected, strict=True):
        all_rows = survey.rows_of(series)
        nan = int(np.isnan(values[rows]).sum())
        kinds = " and ".join(word for word, any_ in (("NaN", nan > 0), ("Inf", nan < len(rows))) if any_)
        on = bad[rows[0] : all_rows.stop].all()
        rest = "until the end" if on else f"at {len(rows):,} of {all_rows.stop - all_rows.start:,} points"
        if all_rows.stop - all_rows.start == 1:
            what = f"is {kinds}; it was logged once"
        elif on:
            what = f"is {kinds} from step {steps[rows[0]]:,} on, {rest}"
        else:
            what = f"is {kinds} first at step {steps[rows[0]]:,}, {rest}"
        cause = (
            f"the learning rate and gradients before step {first[run]:,}"
            if first.get(run, 0) > 0
            else "the values that it is computed from"
        )
        yield RULE.finding(what, run=run, tag=survey.tags[series], hint=f"look at {cause}")
