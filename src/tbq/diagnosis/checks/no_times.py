"""Events have no wall_time.

What it does
    Finds files with values in which no event has a wall_time.

Why it matters
    Some writers in other languages leave it at 0. TensorBoard's relative and wall axes are then useless, and only the
    names of a run's files tell their order.

What to do
    Compare by step.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ704", "no-times", "info")


def check(survey: Survey) -> Findings:
    for index in survey.rows((survey.files["timed"] == 0) & (survey.files["values"] > 0)):
        yield RULE.finding(
            "no event in it has a wall_time",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            hint="compare by step",
        )
