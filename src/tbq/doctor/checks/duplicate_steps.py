"""A tag was logged more than once at the same step.

What it does
    Finds tags with several different values at one step within a session, one after the other. The same value again,
    as Lightning logs its `epoch`, loses nothing and is not reported.

Why it matters
    The step is that of the epoch while the loop is over batches, or a function logs twice. TensorBoard's default
    loader shows the last value of each step; the Python loader shows all, as a vertical line. tbq keeps all.

What to do
    Log with a step that grows with each call (`global_step=epoch * len(loader) + batch`). For one value a step from
    what is there: `tbq export --restarts last`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.readers import told
from tbq.doctor.rows import groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ401", "duplicate-steps", "warning")


def check(look: Look) -> Iterator[Finding]:
    for series, rows in groups(look, (look.step_changes == 0) & look.value_changes):
        if look.series["min_step"][series] == look.series["max_step"][series]:
            continue
        first = int(look.scalars["step"][rows[0]])
        yield RULE.finding(
            f"{len(rows):,} values repeat the step before them, the first at step {first:,}: {told(look, series)}",
            run=look.run_of(series),
            tag=look.tags[series],
            hint="log with a step that grows with each call",
        )
