"""A run was stopped and resumed from an earlier step.

What it does
    Finds sessions that begin at a step that an earlier session had already passed, and counts what each reader shows.
    If this hides more than half of the run's points, it is a warning.

Why it matters
    The points between the checkpoint and the crash exist twice. TensorBoard's default loader drops the older ones;
    its Python loader drops them only if the writer marked the restart (`SummaryWriter(purge_step=…)`), and otherwise
    draws both. tbq drops the older ones (`restarts="resume"`) and reports it.

What to do
    Nothing, if that is what you want. `restarts="keep"` keeps all points; `tbq rewrite LOGDIR -o NEW --restarts resume`
    removes the older points for every reader.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.readers import describe
from tbq.diagnosis.survey import Survey
from tbq.problems import RESTART_HINT

RULE = Rule("TBQ403", "restart", "info")

_HINT = "to remove the older points: tbq rewrite LOGDIR -o NEW --restarts resume"


def check(survey: Survey) -> Findings:
    for resumed in survey.resumed:
        if resumed.is_rerun:  # TBQ408
            continue
        most = resumed.share > 0.5
        hidden = f", which hides {resumed.loss}" if most else ""
        yield RULE.finding(
            f"was resumed {resumed.times} from an earlier step{hidden}: {describe(survey, *resumed.series)}",
            run=survey.runs[resumed.run].name,
            hint=RESTART_HINT if most else _HINT,
            severity="warning" if most else None,
        )
