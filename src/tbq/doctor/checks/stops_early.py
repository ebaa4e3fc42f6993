"""A tag stops while the others of its run go on.

What it does
    Finds tags that are logged as often as the longest one of their session, from the same step on, and that end in
    its first 70 %, by step and by time. A tag that counts epochs beside one that counts batches goes on to the end; a
    phase of the training is over when other tags take its place; a setting (a warm-up) may end; and what pauses for
    long may yet go on. None of these is reported.

Why it matters
    A part of the program died (a worker, a data loader, an evaluation thread) and the rest went on without it.

What to do
    Look at the log of the process around the last step that is named here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.roles import is_setting

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
    # Another writer counts its own steps, and ends when it likes: only tags of one session are compared.
    session = look.last_sessions[which]
    last, first = series["max_step"][which], series["min_step"][which]
    interval = (last - first) / (series["count"][which] - 1)
    order = np.lexsort((last, session))  # the longest of each session comes last
    ends = np.append(session[order][1:] != session[order][:-1], True)
    longest = np.full(len(look.sessions["run"]), -1)
    longest[session[order][ends]] = order[ends]
    whole = longest[session]
    early = last - first < 0.7 * (last[whole] - first[whole])
    early &= (first == first[whole]) & (np.abs(interval - interval[whole]) < 0.05 * interval[whole])
    begun, ended = series["first_wall_time"][which], series["last_wall_time"][which]
    early &= ended - begun[whole] < 0.7 * (ended[whole] - begun[whole])
    for place in look.rows(early):
        index, other = int(which[place]), int(which[whole[place]])
        followed = (session == session[place]) & (first > last[place]) & (begun > ended[place])
        pause = np.diff(look.scalars["step"][look.rows_of(index)]).max()
        if followed.any() or last[whole[place]] - last[place] <= 2 * pause or is_setting(look.tags[index]):
            continue
        yield RULE.finding(
            f"stops at step {last[place]:,}, while {look.tags[other]} goes on to {last[whole[place]]:,}",
            run=look.run_of(index),
            tag=look.tags[index],
            hint=f"look at the log of the process around step {last[place]:,}",
        )
