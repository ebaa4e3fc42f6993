"""The hyperparameters of all runs, and the metrics that experiments declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.columns.codes import values_of
from tbq.server.http.encoding import Answer, json_answer

if TYPE_CHECKING:
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog


def hparams(log: LiveLog, _params: Params) -> Answer:
    """The names, types and values of hyperparameters by run, and the metrics that experiments declare."""
    with log.lock:
        version = log.version
        by_run = {run: hparams for run in log.shown() if (hparams := log.hparams.get(run))}
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
