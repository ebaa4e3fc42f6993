"""MLflow: the SQLite store, with experiments, runs and nested runs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.interface import Log, ReplacedError, Stamp
from tbq.source.formats.single_values import SingleValues
from tbq.source.formats.sink import Sink, flat
from tbq.source.formats.sqlite import Growth, database, is_database, require, tables

_SCHEMA = {
    "experiments": ("experiment_id", "name"),
    "runs": ("run_uuid", "name", "status", "start_time", "end_time", "lifecycle_stage", "experiment_id"),
    "metrics": ("key", "value", "timestamp", "run_uuid", "step", "is_nan"),
    "params": ("key", "value", "run_uuid"),
    "tags": ("key", "value", "run_uuid"),
}
_AT_ONCE = 1 << 16
_LARGEST = 1.7976931348623157e308  # stands for infinity
ENDED = {"FINISHED": False, "FAILED": True, "KILLED": True}


class MlflowFormat:
    """Recognised by its tables."""

    def __init__(self) -> None:
        self._growth = Growth(
            {"metrics": ("run_uuid", "rowid"), "params": ("run_uuid", "rowid")},
            "select run_uuid, status, end_time from runs where lifecycle_stage = 'active' "
            "union all select run_uuid, key, value from tags",
        )

    def logs(self, path: str) -> Iterable[Log]:
        if not is_database(path):
            return []
        with database(path) as connection:
            if not {*_SCHEMA} <= tables(connection):
                return []
            require(connection, path, "MLflow", _SCHEMA)
            rows = connection.execute(
                "select r.run_uuid, coalesce(nullif(r.name, ''), n.value, r.run_uuid), e.name, p.value "
                "from runs r join experiments e on e.experiment_id = r.experiment_id "
                "left join tags n on n.run_uuid = r.run_uuid and n.key = 'mlflow.runName' "
                "left join tags p on p.run_uuid = r.run_uuid and p.key = 'mlflow.parentRunId' "
                "where r.lifecycle_stage = 'active' order by r.start_time, r.rowid"
            ).fetchall()
        return [Log("mlflow", path, run, key) for key, run in names_of(rows).items()]

    def stamp(self, log: Log) -> Stamp | None:
        return self._growth.stamp(log)

    def translator(self, log: Log) -> _Mlflow:
        return _Mlflow(log)


def names_of(rows: Iterable[tuple[str, str, str, str | None]]) -> dict[str, str]:
    """The name of each run: experiment, the runs above it, and its own name. `rows`: id, name, experiment, parent.

    >>> names_of([("1", "sweep", "exp", None), ("2", "trial", "exp", "1"), ("3", "sweep", "exp", None)])
    {'1': 'exp/sweep', '2': 'exp/sweep/trial', '3': 'exp/sweep-3'}
    """
    of = {key: (name, experiment, parent) for key, name, experiment, parent in rows}
    names: dict[str, str] = {}
    taken: set[str] = set()

    def name_of(key: str, below: frozenset[str]) -> str:
        if key in names:
            return names[key]
        name, experiment, parent = of[key]
        nested = parent in of and parent not in below and len(below) < 100
        above = name_of(str(parent), below | {key}) if nested else _part(experiment)
        if key in names:
            return names[key]
        full = f"{above}/{_part(name)}"
        if full in taken:
            full = f"{full}-{key[:8]}"
        if full in taken:
            full = f"{above}/{_part(name)}-{key}"
        taken.add(full)
        names[key] = full
        return full

    for key in of:
        name_of(key, frozenset((key,)))
    return names


def _part(name: object) -> str:
    """A name as one part of a run's name, which has no slashes at its ends."""
    return "/".join(part for part in str(name).split("/") if part not in ("", ".", "..")) or "_"


class _Mlflow:
    def __init__(self, log: Log) -> None:
        self._path, self._key = log.path, log.key
        self._file: int | None = None
        self._last: tuple[Any, ...] = (0, None, None, None)  # the last row that was read
        self._params: dict[str, str] = {}
        self._tags: dict[str, str] = {}
        self._status = ""
        self._step = 0
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        with database(self._path) as connection:
            file = os.stat(self._path).st_ino
            if self._file not in (None, file):
                raise ReplacedError
            self._file = file
            run = connection.execute(
                "select status, start_time, end_time from runs where run_uuid = ?", (self._key,)
            ).fetchone()
            if run is None:
                raise SourceError("the run was deleted", path=self._path, code="unreadable")
            status, started, ended = run
            self._about(connection, sink, _seconds(started))
            latest = self._metrics(connection, sink)
        if status != self._status and status in ENDED:
            sink.end(ENDED[status], self._step, max(_seconds(ended), latest))
        self._status = status

    def _about(self, connection: sqlite3.Connection, sink: Sink, began: float) -> None:
        query = "select key, value from {} where run_uuid = ? order by key"
        params = dict(connection.execute(query.format("params"), (self._key,)).fetchall())
        if params != self._params:
            self._params = params
            sink.hparams(flat(typed(params)), began)
        tags = dict(connection.execute(query.format("tags"), (self._key,)).fetchall())
        for key, value in tags.items():
            if not key.startswith("mlflow.") and self._tags.get(key) != value and value is not None:
                sink.text(f"tag/{key}", value, 0, began)
        self._tags = tags

    def _metrics(self, connection: sqlite3.Connection, sink: Sink) -> float:
        columns = "rowid, key, step, timestamp"
        rowid = self._last[0]
        if rowid:
            row = connection.execute(f"select {columns} from metrics where rowid = ?", (rowid,)).fetchone()
            if row != self._last:
                raise ReplacedError
        found = connection.execute(
            f"select {columns}, value, is_nan from metrics where run_uuid = ? and rowid > ? order by rowid",
            (self._key, rowid),
        )
        latest = 0.0
        rows = SingleValues()
        while several := found.fetchmany(_AT_ONCE):
            _, tags, steps, times, values, odd = zip(*several, strict=True)
            rows.add(
                tags,
                steps,
                [time / 1000 for time in times],
                [_value(value, nan) for value, nan in zip(values, odd, strict=True)],
            )
            rows.write(sink)
            self._last = several[-1][:4]
            self._step = max(self._step, *steps)
            latest = max(latest, max(times) / 1000)
        return latest


def _value(value: float | None, is_nan: object) -> float:
    if value is None or is_nan:
        return float("nan")
    return value if abs(value) < _LARGEST else float("inf") if value > 0 else float("-inf")


def _seconds(milliseconds: int | None) -> float:
    return (milliseconds or 0) / 1000


def typed(params: Mapping[str, str]) -> dict[str, str | bool | float]:
    """Parameters, which MLflow keeps as text: numbers and true and false as such.

    >>> typed({"lr": "0.1", "amp": "True", "opt": "adam"})
    {'lr': 0.1, 'amp': True, 'opt': 'adam'}
    """
    out: dict[str, str | bool | float] = {}
    for key, value in params.items():
        if value in ("True", "False"):
            out[key] = value == "True"
            continue
        try:
            out[key] = float(value) if "_" not in value else value
        except (TypeError, ValueError):
            out[key] = value
    return out
