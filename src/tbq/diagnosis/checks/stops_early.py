"""A tag stops while other tags of its run continue.

What it does
    Finds tags that start at the same step and are logged as often as the longest tag of their session, but end within
    its first 70 %, by step and by time. It does not report a tag that counts epochs beside one that counts batches, a
    phase of training that other tags take over, a setting (a warm-up) that may end, or a tag with pauses so long that
    it may yet continue.

Why it matters
    A part of the program died (a worker, a data loader, an evaluation thread) and the rest continued without it.

What to do
    Read the log of the process around the last step of the finding.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey
from tbq.roles import is_setting

RULE = Rule("TBQ407", "stops-early", "warning")


def check(survey: Survey) -> Findings:
    import numpy as np

    series = survey.series
    mask = survey.is_kind("scalars") & (series["count"] >= 10) & (series["max_step"] > series["min_step"])
    which = mask.nonzero()[0]
    if len(which) < 2:
        return
    # Other writers count their own steps and may end at any time, so only tags of the same session are compared.
    session = survey.last_sessions[which]
    last, first = series["max_step"][which], series["min_step"][which]
    interval = (last - first) / (series["count"][which] - 1)
    order = np.lexsort((last, session))  # the longest tag of each session comes last
    ends = np.append(session[order][1:] != session[order][:-1], True)
    longest = np.full(len(survey.sessions["run"]), -1)
    longest[session[order][ends]] = order[ends]
    reference = longest[session]
    early = last - first < 0.7 * (last[reference] - first[reference])
    early &= (first == first[reference]) & (
        np.abs(interval - interval[reference]) < 0.05 * interval[reference]
    )
    begun, ended = series["first_wall_time"][which], series["last_wall_time"][which]
    early &= ended - begun[reference] < 0.7 * (ended[reference] - begun[reference])
    for place in survey.rows(early):
        index, other = int(which[place]), int(which[reference[place]])
        followed = (session == session[place]) & (first > last[place]) & (begun > ended[place])
        pause = np.diff(survey.scalars["step"][survey.rows_of(index)]).max()
        if (
            followed.any()
            or last[reference[place]] - last[place] <= 2 * pause
            or is_setting(survey.tags[index])
        ):
            continue
        yield RULE.finding(
            f"stops at step {last[place]:,}, while {survey.tags[other]} continues to {last[reference[place]]:,}",
            run=survey.run_of(index),
            tag=survey.tags[index],
            hint=f"read the log of the process around step {last[place]:,}",
        )
