"""An evaluation is logged before the training that its step counts.

What it does
    Finds tags named like an evaluation (val, valid, eval, test, dev) that at every step, from the first on, were
    logged well before the training tags of the same step.

Why it matters
    The evaluation at step n then shows the model before the training of step n: against the training curve it is
    late by one. That may be meant.

What to do
    Nothing, or log the evaluation behind the training of its step, or with the step before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.look import Look, some

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = Rule("TBQ405", "evaluated-first", "info")


_EVALUATION = re.compile(
    r"(^|[/_.\-])(val|valid|validation|eval|evaluation|test|dev)($|[/_.\-])", re.IGNORECASE
)


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    codes, names = look.tag_codes
    like = np.array([bool(_EVALUATION.search(name)) for name in names], bool)
    if not like.any() or like.all():
        return
    scalars = look.is_kind("scalars") & (look.series["count"] >= 4)
    evaluates, trains = scalars & like[codes], scalars & ~like[codes]
    run, began = look.series["run"], look.series["first_wall_time"]
    first = np.full(len(look.runs), np.inf)
    np.minimum.at(first, run[trains], began[trains])
    for series in look.rows(evaluates & (began < first[run]) & np.isfinite(first[run])):
        mine = (trains & (run == run[series])).nonzero()[0]
        others = [int(one) for one in mine if _before(look, series, int(one))]
        if len(others) == len(mine):
            yield RULE.finding(
                f"is logged before {some([look.tags[one] for one in others])} of the same step, from the first step on",
                run=look.run_of(series),
                tag=look.tags[series],
                hint="against the training curve it is late by one step",
            )


def _before(look: Look, series: int, other: int) -> bool:
    """Whether `series` precedes `other` at each step they share, by more than `other` precedes its next step."""
    import numpy as np

    mine, theirs = look.rows_of(series), look.rows_of(other)
    steps, walls = look.scalars["step"], look.scalars["wall_time"]
    shared, at, there = np.intersect1d(steps[mine], steps[theirs], return_indices=True)
    if len(shared) < 4 or steps[mine][0] != steps[theirs][0]:
        return False
    gaps = walls[theirs][there] - walls[mine][at]
    rests = walls[mine][at][1:] - walls[theirs][there][:-1]
    return bool((gaps > 0).all() and np.median(gaps) > np.median(rests) > 0)
