"""A run was stopped and resumed from an earlier step.

What it does
    Finds sessions that begin at a step that an earlier session had passed already, and counts what each reader
    makes of it.

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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ403", "restart", "info")


def check(look: Look) -> Iterator[Finding]:
    earlier, later = look.turns
    segments = look.segments
    back = segments["first_step"][later] <= segments["max_step"][earlier]
    if not back.any():
        return
    scalars = look.is_kind("scalars")
    by_run: dict[int, dict[int, None]] = {}
    sessions: dict[int, set[int]] = {}
    for pair in look.rows(back):
        series = int(segments["series"][later[pair]])
        never_rises = look.series["min_step"][series] == look.series["max_step"][series]
        if series in look.overlapping or series in look.misordered or not scalars[series] or never_rises:
            continue
        run = int(look.series["run"][series])
        by_run.setdefault(run, {})[series] = None
        sessions.setdefault(run, set()).add(int(segments["session"][later[pair]]))
    for run, resumed in by_run.items():
        times = len(sessions[run])
        yield RULE.finding(
            f"was resumed {'once' if times == 1 else f'{times:,} times'} from an earlier step: {told(look, *resumed)}",
            run=look.runs[run].name,
            hint="to take the overtaken points out: tbq rewrite LOGDIR -o NEW --restarts resume",
        )
