"""The hyperparameters of followed runs, with the status of their sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tbq.decode.reader import table_of
from tbq.kinds.hparams import by_run

if TYPE_CHECKING:
    from tbq.following.follower import Follower


@dataclass(frozen=True)
class Hparams:
    """A run's hyperparameters by name, its group, and the status of its session."""

    values: Mapping[str, float | str | bool] = field(default_factory=dict)
    group: str | None = None
    status: str | None = None


def read_hparams(follower: Follower, runs: Sequence[str]) -> dict[str, Hparams]:
    """The hyperparameters of these runs; runs without any are left out."""
    from tbq import _core

    result, known = follower.store.of_runs("hparams", runs)
    table = table_of(_core.table(result, "hparams", [run.name for run in known]))
    _core.value_problems(result)  # discarded: the doctor reports them
    names, columns, sessions = by_run(table)
    lists = {name: column.to_pylist() for name, column in columns.items()}
    hparams: dict[str, Hparams] = {}
    for i, (run, (group, status)) in enumerate(zip(names, sessions, strict=True)):
        values: dict[str, Any] = {name: cells[i] for name, cells in lists.items() if cells[i] is not None}
        hparams[run] = Hparams(values, group, status)
    return hparams
