"""A tag stops while the others of its run go on.

What it does
    Finds tags that are logged as often as the longest one of their run from the same step on, and that end in its
    first 70 %.

Why it matters
    A part of the program died (a worker, a data loader, an evaluation thread) and the rest went on without it.

What to do
    Look at the log of the process around the last step that is named here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ407", "stops-early", "warning")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    series = look.series
    mask = look.is_kind("scalars") & (series["count"] >= 10) & (series["max_step"] > series["min_step"])
    which = mask.nonzero()[0]
    if len(which) < 2:
        return
    run, last, first = series["run"][which], series["max_step"][which], series["min_step"][which]
    interval = (last - first) / (series["count"][which] - 1)
    order = np.lexsort((last, run))  # the longest of each run comes last
    ends = np.append(run[order][1:] != run[order][:-1], True)
    longest = np.full(len(look.runs), -1)
    longest[run[order][ends]] = order[ends]
    whole = longest[run]
    early = last - first < 0.7 * (last[whole] - first[whole])
    early &= (first == first[whole]) & (np.abs(interval - interval[whole]) < 0.05 * interval[whole])
    for place in look.rows(early):
        index, other = int(which[place]), int(which[whole[place]])
        yield RULE.finding(
            f"stops at step {last[place]:,}, while {look.tags[other]} goes on to {last[whole[place]]:,}",
            run=look.run_of(index),
            tag=look.tags[index],
            hint=f"look at the log of the process around step {last[place]:,}",
        )
