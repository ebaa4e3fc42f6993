"""An evaluation is logged before the training of its step.

What it does
    Compares the wall times of an evaluation (val, valid, eval, test or dev in its name; or an accuracy and the like
    beside tags named train) with those of the training tags at the same steps. Reports it if, at every step, the
    evaluation precedes the training value by more than a training value ever precedes the next evaluation: the
    training of the step then lies between the two. If the times leave any doubt, nothing is reported.

Why it matters
    The evaluation at step n then shows the model before the training of step n: compared with the training curve, it
    lags by one step. This may be intended.

What to do
    Nothing, or log the evaluation after the training of its step, or with the previous step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tbq.diagnosis.finding import Finding, Rule
from tbq.diagnosis.survey import Survey
from tbq.roles import is_evaluation, is_metric, is_training
from tbq.text import some

if TYPE_CHECKING:
    from tbq.diagnosis.survey import Array

RULE = Rule("TBQ405", "evaluated-first", "info")


def check(survey: Survey) -> Iterator[Finding]:
    import numpy as np

    evaluations, trainings = _roles(survey)
    run, began = survey.series["run"], survey.series["first_wall_time"]
    first = np.full(len(survey.runs), np.inf)
    np.fmin.at(first, run[trainings], began[trainings])
    for series in survey.rows(evaluations & (began < first[run]) & np.isfinite(first[run])):
        related = (trainings & (run == run[series])).nonzero()[0].tolist()
        if all(_before(survey, series, other) for other in related):
            yield RULE.finding(
                f"is logged before {some([survey.tags[other] for other in related])} at every step",
                run=survey.run_of(series),
                tag=survey.tags[series],
                hint="compared with the training curve, it lags by one step",
            )


def _roles(survey: Survey) -> tuple[Array, Array]:
    """Which series are evaluations, and which are the training that they belong to."""
    import numpy as np

    codes, names = survey.tag_codes
    run = survey.series["run"]
    scalars = survey.is_kind("scalars") & (survey.series["count"] >= 4)

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
    # Without a tag named train, other metrics count as training; without a tag named val, as evaluations.
    plain = metrics & ~evaluations & ~trainings
    evaluations, trainings = (
        evaluations | (plain & in_runs_of(trainings) & ~in_runs_of(evaluations)),
        trainings | (plain & ~in_runs_of(trainings)),
    )
    return evaluations, trainings


def _before(survey: Survey, series: int, other: int) -> bool:
    """Whether `series` precedes `other` at each step they share, by more than `other` ever precedes the next step."""
    import numpy as np

    ours, theirs = survey.rows_of(series), survey.rows_of(other)
    steps, walls = survey.scalars["step"], survey.scalars["wall_time"]
    shared, at, at_theirs = np.intersect1d(steps[ours], steps[theirs], return_indices=True)
    if len(shared) < 4 or steps[ours][0] != steps[theirs][0]:
        return False
    gaps = walls[theirs][at_theirs] - walls[ours][at]
    rests = walls[ours][at][1:] - walls[theirs][at_theirs][:-1]
    return bool(rests.min() > 0 and gaps.min() > rests.max())
