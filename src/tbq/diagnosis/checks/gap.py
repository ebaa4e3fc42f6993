"""Steps are missing in the middle of a series.

What it does
    Finds tags that are logged at a regular interval with gaps of at least 10 intervals. Three or more gaps of the same
    size are a pattern (the first batches of each epoch), and are not reported.

Why it matters
    Logging was off for a while, a full queue or a full disk dropped events, or a file of the run is missing. Readers
    draw a straight line across the gap.

What to do
    Look for a file of the run that was not copied, and read the log of the process for that time.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey
from tbq.text import counted

RULE = Rule("TBQ406", "gap", "info")


def check(survey: Survey) -> Findings:
    import numpy as np

    which, starts = survey.scalar_series
    if len(which) == 0:
        return
    counts = np.diff(starts)
    changes = np.diff(survey.scalars["step"], append=0)
    changes[starts[1:] - 1] = 0
    largest = np.maximum.reduceat(changes, starts[:-1])
    reach = survey.series["max_step"][which] - survey.series["min_step"][which]
    usual = (reach - largest) / np.maximum(counts - 2, 1)
    for place in survey.rows((counts >= 20) & (largest >= 10 * usual) & (usual > 0)):
        series = int(which[place])
        gaps = changes[starts[place] : starts[place + 1] - 1]
        interval = np.median(gaps)
        holes = (gaps >= 10 * interval).nonzero()[0]
        if interval <= 0 or len(holes) == 0 or (gaps == interval).mean() < 0.9:
            continue
        sizes = gaps[holes]
        if len(holes) >= 3 and sizes.max() - sizes.min() <= 0.1 * sizes.max():
            continue
        step = int(survey.scalars["step"][starts[place] + holes[0]])
        more = f", and {counted(len(holes) - 1, 'more such gap')}" if len(holes) > 1 else ""
        yield RULE.finding(
            f"is logged every {interval:,.0f} steps, but has nothing between steps {step:,} and "
            f"{step + int(gaps[holes[0]]):,}{more}",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="look for a file of the run that was not copied, or for a full disk at that time",
        )
