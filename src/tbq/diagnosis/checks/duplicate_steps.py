"""A tag was logged more than once at the same step.

What it does
    Finds tags that log different values, one after the other, at the same step of a session. A repeated value, such as
    Lightning's `epoch`, loses nothing and is not reported.

Why it matters
    The step counts epochs while the loop runs over batches, or a function logs twice. TensorBoard's default loader
    shows the last value of each step; its Python loader shows all of them, as a vertical line. tbq keeps all.

What to do
    Log with a step that increases with each call (`global_step=epoch * len(loader) + batch`). To get one value per step
    from an existing log: `tbq export --restarts last`.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.readers import describe
from tbq.diagnosis.rows import groups
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ401", "duplicate-steps", "warning")


def check(survey: Survey) -> Findings:
    for series, rows in groups(survey, (survey.step_changes == 0) & survey.value_changes):
        if survey.series["min_step"][series] == survey.series["max_step"][series]:
            continue
        first = int(survey.scalars["step"][rows[0]])
        yield RULE.finding(
            f"{len(rows):,} values repeat the step before them, the first at step {first:,}: "
            f"{describe(survey, series)}",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="log with a step that increases with each call",
        )
