"""Which runs only hold the hyperparameters of another run, and the hyperparameters of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.kinds.hparam_runs import START, parent, sub_runs

if TYPE_CHECKING:
    from tbq.live.hparams import Hparams
    from tbq.server.live_log import LiveLog
    from tbq.server.series_index import Index


def folds(index: Index, hparams: Mapping[str, Hparams], runs: Collection[str]) -> dict[str, str]:
    """The sub-runs that `add_hparams` made, with the run of each, by the rule of `log.summary`."""
    likely = [run for run in hparams if run in index.of_run and parent(run) in runs]
    if not likely:
        return {}
    rows: dict[str, list[Any]] = {"run": [], "tag": [], "kind": [], "count": []}
    for run in hparams:
        if run not in index.of_run:
            continue
        series = index.of_run[run]
        start = index.code(START)
        every = parent(run) in runs
        columns = (series.tag.tolist(), series.kind.tolist(), series.rows.tolist())
        for tag, kind, count in zip(*columns, strict=True):
            if every or tag == start:
                rows["run"].append(run)
                rows["tag"].append(index.tags[tag])
                rows["kind"].append(index.kinds[kind])
                rows["count"].append(count)
    types = {"run": pa.string(), "tag": pa.string(), "kind": pa.string(), "count": pa.int64()}
    table = pa.table({name: pa.array(rows[name], kind) for name, kind in types.items()})
    return sub_runs(table, runs).folded


def hparams_of(log: LiveLog, run: str) -> Hparams | None:
    """The hyperparameters of a run; if it lacks them, its sub-run's."""
    if run in log.hparams:
        return log.hparams[run]
    sub = next((sub for sub, above in log.folds.items() if above == run), None)
    return log.hparams.get(sub) if sub is not None else None
