"""The clock went back while a run was logged.

What it does
    Finds tags whose wall_time falls by more than a second from one point to the next within a session.

Why it matters
    The host's clock was set, or events were written with times of their own. TensorBoard's "relative" and "wall"
    axes draw the line backwards, and the order of sessions, which goes by time, may be wrong.

What to do
    Look at steps, not at time; synchronise the clock (NTP) before the next run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ304", "clock", "warning")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    walls = look.scalars["wall_time"]
    if len(walls) < 2:
        return
    _, starts = look.scalar_segments
    falls = np.diff(walls) < -1
    falls[starts[1:-1] - 1] = False
    rows = falls.nonzero()[0]
    told = set()
    for row, segment in zip(rows.tolist(), look.segments_of_rows(rows).tolist(), strict=True):
        file = int(look.sessions["file"][look.segments["session"][segment]])
        if file in told or file in look.overwritten:
            continue
        told.add(file)
        series = int(look.segments["series"][segment])
        yield RULE.finding(
            f"the clock goes back by {walls[row] - walls[row + 1]:,.0f} seconds at step "
            f"{look.scalars['step'][row + 1]:,}",
            run=look.run_of(series),
            path=look.paths[file],
            tag=look.tags[series],
            hint="compare by step, not by time",
        )
