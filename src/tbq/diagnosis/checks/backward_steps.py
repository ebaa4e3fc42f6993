"""Steps decrease within a session.

What it does
    Finds tags whose step decreases from one point to the next although the writer was not restarted.

Why it matters
    A counter was reset (per epoch, phase or fold) while the writer stayed open. TensorBoard's default loader takes
    this for a restart and drops every earlier point from that step on; its Python loader draws a line back. tbq
    keeps all points.

What to do
    Count steps over the whole run, or use a separate tag or run for each phase.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.readers import describe
from tbq.diagnosis.rows import groups
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ402", "backward-steps", "warning")


def check(survey: Survey) -> Findings:
    for series, rows in groups(survey, survey.step_changes < 0):
        steps = survey.scalars["step"]
        times = "once" if len(rows) == 1 else f"{len(rows):,} times"
        yield RULE.finding(
            f"steps decrease {times}, first from {steps[rows[0]]:,} to {steps[rows[0] + 1]:,}: "
            f"{describe(survey, series)}",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="count steps over the whole run, or use a separate tag for each phase",
        )
