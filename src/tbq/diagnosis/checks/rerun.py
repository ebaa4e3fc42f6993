"""A run was started again in the directory of an earlier run.

What it does
    Finds sessions that begin at or before the first step of an earlier session and hide 5 % or more of the run's
    points.

Why it matters
    Two experiments share one run. Every reader takes the second for a restart of the first: TensorBoard's default
    loader and tbq (`restarts="resume"`) show only the second, TensorBoard's Python loader draws both as one line.

What to do
    Give each experiment its own directory (`SummaryWriter()` without a path, or the time in its name). In an existing
    log, `--restarts split` (`restarts="split"`) reads each start as a run of its own, `exp1@1` and `exp1@2`, and
    `--restarts keep` keeps all rows in one run; each session has its own event file, which you can move to another
    directory.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.readers import describe
from tbq.diagnosis.survey import Survey
from tbq.problems import RESTART_HINT

RULE = Rule("TBQ408", "rerun", "warning")


def check(survey: Survey) -> Findings:
    for resumed in survey.resumed:
        if resumed.is_rerun:
            yield RULE.finding(
                f"was started again {resumed.times} in the same directory, which hides {resumed.loss}: "
                f"{describe(survey, *resumed.series)}",
                run=survey.runs[resumed.run].name,
                hint=f"give each run its own directory; {RESTART_HINT}; to read each start as a run of its own: "
                "restarts='split', --restarts split",
            )
