"""A metric is NaN or infinite.

What it does
    Finds tags with NaN or infinite values: from which step on, how many, and whether it recovers.

Why it matters
    Training diverged, or a division by zero went into a mean. TensorBoard draws triangles or nothing; smoothing
    hides it; JSON and many tools cannot hold such values.

What to do
    Look at the last finite values, and at the learning rate and the gradients before the first step named here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.rows import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ501", "not-finite", "warning")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    values, steps = look.scalars["value"], look.scalars["step"]
    bad = ~np.isfinite(values)
    found = list(grouped(look, bad.nonzero()[0]))
    first: dict[str, int] = {}  # where to look: before a run's first such value, whatever its tag
    for series, rows in found:
        run, step = look.run_of(series), int(steps[rows[0]])
        first[run] = min(first.get(run, step), step)
    for series, rows in found:
        mine = look.rows_of(series)
        nan = int(np.isnan(values[rows]).sum())
        kinds = " and ".join(word for word, any_ in (("NaN", nan > 0), ("Inf", nan < len(rows))) if any_)
        on = bad[rows[0] : mine.stop].all()
        rest = "and stays so to the end" if on else f"at {len(rows):,} of {mine.stop - mine.start:,} points"
        yield RULE.finding(
            f"is {kinds} from step {steps[rows[0]]:,} on, {rest}"
            if on
            else f"is {kinds} first at step {steps[rows[0]]:,}, {rest}",
            run=look.run_of(series),
            tag=look.tags[series],
            hint=f"look at the learning rate and the gradients before step {first[look.run_of(series)]:,}",
        )
