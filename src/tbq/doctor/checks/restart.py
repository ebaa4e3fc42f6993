"""A run was stopped and resumed from an earlier step.

What it does
    Finds sessions that begin at a step that an earlier session had passed already, and counts what each reader
    makes of it. If more than half of the run's points are hidden by it, that is a warning.

Why it matters
    The points between the checkpoint and the crash are there twice. TensorBoard's default loader drops the older
    ones; its Python loader drops them only where the writer marked the restart (`SummaryWriter(purge_step=…)`), and
    else draws both. tbq drops the older ones (`restarts="resume"`) and says so.

What to do
    Nothing, if that is what you want. `restarts="keep"` keeps all; `tbq rewrite LOGDIR -o NEW --restarts resume`
    takes the overtaken points out for every reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.readers import told
from tbq.problems import RESTART_HINT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ403", "restart", "info")

_HINT = "to take the overtaken points out: tbq rewrite LOGDIR -o NEW --restarts resume"


def check(look: Look) -> Iterator[Finding]:
    for one in look.resumed:
        if one.is_rerun:  # TBQ408
            continue
        most = one.share > 0.5
        hidden = f", which hides {one.said}" if most else ""
        yield RULE.finding(
            f"was resumed {one.times} from an earlier step{hidden}: {told(look, *one.series)}",
            run=look.runs[one.run].name,
            hint=RESTART_HINT if most else _HINT,
            severity="warning" if most else None,
        )
