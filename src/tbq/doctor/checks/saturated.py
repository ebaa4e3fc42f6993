"""A metric has reached the largest float32.

What it does
    Finds values of about ±3.4e38: as far as float32 reaches.

Why it matters
    A value was clipped to float32, or an initial "infinity" of that size was logged. Every scale of a plot breaks.

What to do
    Leave out the value until there is a real one, or log it as float64 (a tensor).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.rows import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ503", "saturated", "warning")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    values, steps = look.scalars["value"], look.scalars["step"]
    with np.errstate(invalid="ignore"):
        rows = ((np.abs(values) >= 3.4028234e38) & np.isfinite(values)).nonzero()[0]
    for series, mine in grouped(look, rows):
        yield RULE.finding(
            f"is as large as float32 can be at {len(mine):,} points, first at step {steps[mine[0]]:,}",
            run=look.run_of(series),
            tag=look.tags[series],
            hint="log nothing until there is a real value",
        )
