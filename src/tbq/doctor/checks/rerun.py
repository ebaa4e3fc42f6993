"""A run was started again in the directory of an earlier one.

What it does
    Finds sessions that begin at the first step of an earlier one, or before it, and that hide 5 % of the run's points
    or more.

Why it matters
    Two experiments share one run. Every reader takes the second for a restart of the first: TensorBoard's default
    loader and tbq (`restarts="resume"`) show the second alone, TensorBoard's Python loader draws both as one line.

What to do
    Give each experiment a directory of its own (`SummaryWriter()` without a path, or a time in its name). For what is
    there: `--restarts keep` (`restarts="keep"`) keeps all rows; each session has an event file of its own, which can be
    moved to another directory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.readers import told
from tbq.problems import RESTART_HINT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ408", "rerun", "warning")


def check(look: Look) -> Iterator[Finding]:
    for one in look.resumed:
        if one.is_rerun:
            yield RULE.finding(
                f"was started again {one.times} in the same directory, which hides {one.said}: "
                f"{told(look, *one.series)}",
                run=look.runs[one.run].name,
                hint=f"give each run a directory of its own; {RESTART_HINT}",
            )
