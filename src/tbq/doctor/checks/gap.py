"""Steps are missing in the middle of a series.

What it does
    Finds tags logged at a regular interval with one hole or more of at least 10 intervals. Three holes or more of one
    size are a habit (the first batches of each epoch), and are not reported.

Why it matters
    Logging was off for a while, events were dropped by a full queue or a full disk, or a file of the run is missing.
    Readers draw a straight line across.

What to do
    Look for another file of the run that was not copied, and at the log of the process for that time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ406", "gap", "info")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    which, starts = look.scalar_series
    if len(which) == 0:
        return
    counts = np.diff(starts)
    changes = np.diff(look.scalars["step"], append=0)
    changes[starts[1:] - 1] = 0
    largest = np.maximum.reduceat(changes, starts[:-1])
    reach = look.series["max_step"][which] - look.series["min_step"][which]
    usual = (reach - largest) / np.maximum(counts - 2, 1)
    for place in look.rows((counts >= 20) & (largest >= 10 * usual) & (usual > 0)):
        series = int(which[place])
        mine = changes[starts[place] : starts[place + 1] - 1]
        interval = np.median(mine)
        holes = (mine >= 10 * interval).nonzero()[0]
        if interval <= 0 or len(holes) == 0 or (mine == interval).mean() < 0.9:
            continue
        sizes = mine[holes]
        if len(holes) >= 3 and sizes.max() - sizes.min() <= 0.1 * sizes.max():
            continue
        step = int(look.scalars["step"][starts[place] + holes[0]])
        more = f", and {len(holes) - 1:,} more such holes" if len(holes) > 1 else ""
        yield RULE.finding(
            f"is logged every {interval:,.0f} steps, but has nothing between steps {step:,} and "
            f"{step + int(mine[holes[0]]):,}{more}",
            run=look.run_of(series),
            tag=look.tags[series],
            hint="look for a file of the run that was not copied, or for a full disk at that time",
        )
