"""Steps go back within a session.

What it does
    Finds tags whose step falls from one point to the next though the writer was not restarted.

Why it matters
    A counter was reset (per epoch, per phase, per fold) while the writer stayed. TensorBoard's default loader takes
    it for a restart and drops every earlier point from that step on; the Python loader draws a line back. tbq
    keeps all.

What to do
    Count steps over the whole run, or use a tag or a run for each phase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.readers import told
from tbq.doctor.rows import groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ402", "backward-steps", "warning")


def check(look: Look) -> Iterator[Finding]:
    for series, rows in groups(look, look.step_changes < 0):
        steps = look.scalars["step"]
        times = "once" if len(rows) == 1 else f"{len(rows):,} times"
        yield RULE.finding(
            f"steps go back {times}, first from {steps[rows[0]]:,} to {steps[rows[0] + 1]:,}: {told(look, series)}",
            run=look.run_of(series),
            tag=look.tags[series],
            hint="count steps over the whole run, or use a tag for each phase",
        )
