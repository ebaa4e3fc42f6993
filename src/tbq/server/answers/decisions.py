"""From runs to a decision: configurations over their seeds, and how much each hyperparameter decides."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from tbq.query.configurations import Ranking
from tbq.query.importance import importances
from tbq.roles import best_of
from tbq.server.answers.groups import grouping
from tbq.server.answers.metrics import check_tag, values
from tbq.server.http.encoding import Answer, json_answer
from tbq.summary.statistics import STATS

if TYPE_CHECKING:
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog


def configurations(log: LiveLog, params: Params) -> Answer:
    """The groups of these runs from the best to the worst by a metric, as `log.summary(by=…)` has them."""
    by = params.text("by")
    tag, stat, way, runs = _asked(log, params)
    states = log.states_now() if stat in ("best", "min", "max") else None  # others are not best values
    board = Ranking.of(tag, way, values(log, tag, stat, runs), grouping(log, runs, by), states)
    rows = [
        {"name": row.name, "left_out": row.left_out, **numbers}
        for row, numbers in zip(board.rows, board.statistics().to_pylist(), strict=True)
    ]
    return json_answer(
        {
            "version": log.version,
            "by": by,
            "tag": tag,
            "stat": stat,
            "groups": rows,
            "verdict": board.verdict.replace("\n", ". "),
        }
    )


def importance(log: LiveLog, params: Params) -> Answer:
    """How much of a metric each hyperparameter decides, over these runs, as `log.importance` has it."""
    tag, stat, way, runs = _asked(log, params)
    of_runs = values(log, tag, stat, runs)
    hparams = log.hparams_of(of_runs)
    return json_answer(
        {
            "version": log.version,
            "tag": tag,
            "stat": stat,
            "hparams": [asdict(each) for each in importances(of_runs, way, hparams)],
            "left_out": len(runs) - len(of_runs),
            "not_finite": sum(not math.isfinite(value) for value in of_runs.values()),
        }
    )


def _asked(log: LiveLog, params: Params) -> tuple[str, str, str, list[str]]:
    """The tag, its statistic, which of its values is better, and the runs."""
    tag, stat = params.text("tag"), params.choice("stat", ("best", *STATS))
    check_tag(log, tag)
    return tag, stat, stat if stat in ("min", "max") else best_of(tag), params.runs(log)
