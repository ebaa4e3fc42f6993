"""An evaluation is logged before the training that its step counts.

What it does
    Compares the times of an evaluation (val, valid, eval, test, dev in its name; or an accuracy and the like beside
    tags named train) with those of the training tags of the same steps. Reports it if at every step, from the first
    on, the evaluation comes first by more than ever passes from a training value to the next evaluation: then the
    training of the step lies between the two. If the times leave a doubt, nothing is reported.

Why it matters
    The evaluation at step n then shows the model before the training of step n: against the training curve it is
    late by one. That may be meant.

What to do
    Nothing, or log the evaluation after the training of its step, or with the step before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.look import Look, some
from tbq.doctor.roles import is_evaluation, is_metric, is_training

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tbq.doctor.look import Array

RULE = Rule("TBQ405", "evaluated-first", "info")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    evaluations, trainings = _roles(look)
    run, began = look.series["run"], look.series["first_wall_time"]
    first = np.full(len(look.runs), np.inf)
    np.minimum.at(first, run[trainings], began[trainings])
    for series in look.rows(evaluations & (began < first[run]) & np.isfinite(first[run])):
        mine = (trainings & (run == run[series])).nonzero()[0].tolist()
        if all(_before(look, series, other) for other in mine):
            yield RULE.finding(
                f"is logged before {some([look.tags[one] for one in mine])} of the same step, from the first step on",
                run=look.run_of(series),
                tag=look.tags[series],
                hint="against the training curve it is late by one step",
            )


def _roles(look: Look) -> tuple[Array, Array]:
    """Which series are evaluations, and which the training that they belong to."""
    import numpy as np

    codes, names = look.tag_codes
    run = look.series["run"]
    scalars = look.is_kind("scalars") & (look.series["count"] >= 4)

    def named(test: Callable[[str], bool]) -> Array:
        like = np.fromiter(map(test, names), bool, len(names))
        mask: Array = scalars & like[codes]
        return mask

    def in_runs_of(mask: Array) -> Array:
        return np.isin(run, run[mask])

    if not scalars.any():
        return scalars, scalars
    evaluations, metrics = named(is_evaluation), named(is_metric)
    trainings = named(is_training) & ~evaluations
    # Without a tag named train, the other metrics are of the training; without one named val, they are evaluations.
    plain = metrics & ~evaluations & ~trainings
    evaluations, trainings = (
        evaluations | (plain & in_runs_of(trainings) & ~in_runs_of(evaluations)),
        trainings | (plain & ~in_runs_of(trainings)),
    )
    return evaluations, trainings


def _before(look: Look, series: int, other: int) -> bool:
    """Whether `series` precedes `other` at each step they share, by more than `other` ever precedes the next one."""
    import numpy as np

    mine, theirs = look.rows_of(series), look.rows_of(other)
    steps, walls = look.scalars["step"], look.scalars["wall_time"]
    shared, at, there = np.intersect1d(steps[mine], steps[theirs], return_indices=True)
    if len(shared) < 4 or steps[mine][0] != steps[theirs][0]:
        return False
    gaps = walls[theirs][there] - walls[mine][at]
    rests = walls[mine][at][1:] - walls[theirs][there][:-1]
    return bool(rests.min() > 0 and gaps.min() > rests.max())
