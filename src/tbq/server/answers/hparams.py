"""The hyperparameters of all runs, the metrics that experiments declare, and how much each parameter decides."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tbq.columns.codes import values_of
from tbq.query.importance import importances
from tbq.roles import best_of
from tbq.server.answers.metrics import check_tag, values
from tbq.server.hparam_runs import hparams_of
from tbq.server.http.encoding import Answer, json_answer
from tbq.summary.statistics import STATS

if TYPE_CHECKING:
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog


def hparams(log: LiveLog, _params: Params) -> Answer:
    """The names, types and values of hyperparameters by run, and the metrics that experiments declare."""
    with log.lock:
        version = log.version
        by_run = {run: hparams for run in log.shown() if (hparams := hparams_of(log, run))}
        named = [run for run in log.hparams if run in log.states]
    listed = []
    for name in sorted({name for hparams in by_run.values() for name in hparams.values}):
        values = [hparams.values[name] for hparams in by_run.values() if name in hparams.values]
        kinds = {
            "bool" if isinstance(value, bool) else "number" if isinstance(value, float) else "string"
            for value in values
        }
        kind = kinds.pop() if len(kinds) == 1 else "string"
        listed.append({"name": name, "type": kind, "runs": len(values), "values": len(set(map(str, values)))})
    return json_answer(
        {
            "version": version,
            "hparams": listed,
            "metrics": log.cache.of("hparam_metrics", log.version_of(named), lambda: _metrics(log, named)),
            "runs": [
                {
                    "id": log.id_of(run),
                    "values": dict(each.values),
                    "group": each.group,
                    "status": each.status,
                }
                for run, each in by_run.items()
            ],
        }
    )


def importance(log: LiveLog, params: Params) -> Answer:
    """How much of a metric each hyperparameter decides, over these runs, as `log.importance` has it."""
    tag, stat = params.text("tag"), params.choice("stat", ("best", *STATS))
    runs = params.runs(log)
    check_tag(log, tag)
    way = stat if stat in ("min", "max") else best_of(tag)
    of_runs = values(log, tag, stat, runs)
    with log.lock:
        hparams = {run: each.values for run in of_runs if (each := hparams_of(log, run))}
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


def _metrics(log: LiveLog, runs: list[str]) -> list[dict[str, Any]]:
    from tbq.kinds.values import Values

    if not runs:
        return []
    result, known = log.follower.store.of_runs("hparams", runs)
    table = Values(log.follower.reader, "hparam_metrics", result, known, None, "ignore").arrow()
    metrics: dict[str, dict[str, Any]] = {}
    columns = (values_of(table[name]) for name in ("group", "name", "display_name", "description"))
    for group, name, display, description in zip(*columns, strict=True):
        tag = f"{group}/{name}" if group else name
        metrics.setdefault(tag, {"tag": tag, "display_name": display, "description": description})
    return list(metrics.values())
