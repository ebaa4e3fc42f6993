"""The clock went back during a run.

What it does
    Finds tags whose wall_time decreases by more than a second from one point to the next within a session.

Why it matters
    The host's clock was set, or the writer was given wall times. TensorBoard's "relative" and "wall" axes draw the
    line backwards, and the order of sessions, which depends on time, may be wrong.

What to do
    Compare by step, not by time; synchronise the clock (NTP) before the next run.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ304", "clock", "warning")


def check(survey: Survey) -> Findings:
    import numpy as np

    walls = survey.scalars["wall_time"]
    if len(walls) < 2:
        return
    _, starts = survey.scalar_segments
    falls = np.diff(walls) < -1
    falls[starts[1:-1] - 1] = False
    rows = falls.nonzero()[0]
    reported = set()
    for row, segment in zip(rows.tolist(), survey.segments_of_rows(rows).tolist(), strict=True):
        file = int(survey.sessions["file"][survey.segments["session"][segment]])
        if file in reported or file in survey.overwritten:
            continue
        reported.add(file)
        series = int(survey.segments["series"][segment])
        yield RULE.finding(
            f"the clock goes back by {walls[row] - walls[row + 1]:,.0f} seconds at step "
            f"{survey.scalars['step'][row + 1]:,}",
            run=survey.run_of(series),
            path=survey.paths[file],
            tag=survey.tags[series],
            hint="compare by step, not by time",
        )
