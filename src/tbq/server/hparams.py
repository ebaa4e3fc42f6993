"""The hyperparameters of runs, and which runs only hold those of another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.decode.reader import table_of
from tbq.kinds.hparam_runs import START, parent, sub_runs
from tbq.kinds.hparams import by_run

if TYPE_CHECKING:
    from tbq.live.follower import Follower
    from tbq.server.series import Index


@dataclass(frozen=True)
class Hparams:
    """What the session of a run says: values by name, its group and its status."""

    values: Mapping[str, float | str | bool] = field(default_factory=dict)
    group: str | None = None
    status: str | None = None


def read_hparams(follower: Follower, runs: Sequence[str]) -> dict[str, Hparams]:
    """Those of these runs."""
    from tbq import _core

    result, known = follower.store.of_runs("hparams", runs)
    table = table_of(_core.table(result, "hparams", [run.name for run in known]))
    _core.value_problems(result)  # the doctor reports them
    names, columns, about = by_run(table)
    lists = {name: column.to_pylist() for name, column in columns.items()}
    hparams: dict[str, Hparams] = {}
    for i, (run, (group, status)) in enumerate(zip(names, about, strict=True)):
        values: dict[str, Any] = {name: cells[i] for name, cells in lists.items() if cells[i] is not None}
        hparams[run] = Hparams(values, group, status)
    return hparams


def folds(index: Index, hparams: Mapping[str, Hparams], runs: Collection[str]) -> dict[str, str]:
    """Sub-runs of `add_hparams` → the run above, by the rule of `log.summary`."""
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
