"""A metric never changes.

What it does
    Finds tags named as a metric (loss, accuracy, reward, …) with 20 values or more that are all the same. A learning
    rate, a momentum or a memory size may well be constant.

Why it matters
    A metric that is never updated, or a model that does not learn.

What to do
    Check that the value that is logged is the one that is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.roles import is_metric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ502", "constant", "info")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    which, starts = look.scalar_series
    if len(which) == 0:
        return
    values = look.scalars["value"]
    same = np.minimum.reduceat(values, starts[:-1]) == np.maximum.reduceat(values, starts[:-1])
    same &= np.isfinite(values[starts[:-1]]) & (np.diff(starts) >= 20)
    for place in look.rows(same):
        series = int(which[place])
        if not is_metric(look.tags[series]):
            continue
        yield RULE.finding(
            f"is {values[starts[place]]:.6g} at all of its {starts[place + 1] - starts[place]:,} points",
            run=look.run_of(series),
            tag=look.tags[series],
            hint="check that the value that is logged is the one that is computed",
        )
