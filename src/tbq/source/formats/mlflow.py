"""MLflow: the SQLite store, with experiments, runs and nested runs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.interface import Format, Log, ReplacedError, Stamp
from tbq.source.formats.run_names import names_of
from tbq.source.formats.single_values import SingleValues
from tbq.source.formats.sink import Sink, flat
from tbq.source.formats.sqlite import Growth, bad_rows, database, is_database, release, require, tables

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


class MlflowFormat(Format):
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
                "select r.run_uuid, coalesce(nullif(r.name, ''), n.value, r.run_uuid), "
                "coalesce(e.name, r.experiment_id), p.value from runs r "
                "left join experiments e on e.experiment_id = r.experiment_id "
                "left join tags n on n.run_uuid = r.run_uuid and n.key = 'mlflow.runName' "
                "left join tags p on p.run_uuid = r.run_uuid and p.key = 'mlflow.parentRunId' "
                "where r.lifecycle_stage = 'active' and typeof(r.run_uuid) = 'text' order by r.start_time, r.rowid"
            ).fetchall()
        return [Log("mlflow", path, run, key) for key, run in names_of(rows).items()]

    def stamp(self, log: Log) -> Stamp | None:
        return self._growth.stamp(log)

    def translator(self, log: Log) -> _Mlflow:
        return _Mlflow(log)


class _Mlflow:
    def __init__(self, log: Log) -> None:
        self._path, self._key = log.path, log.key
        self._file: int | None = None
        self._last: tuple[Any, ...] = (0, None, None, None)  # the last row that was read
        self._params: dict[str, str] = {}
        self._tags: dict[str, str] = {}
        self._status = ""
        self._step = 0
        self._odd = 0  # metrics that cannot be read
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        if self._status in ENDED:  # it was resumed, or something was added after its end
            raise ReplacedError
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
            self._about(connection, sink, seconds(started))
            latest = self._metrics(connection, sink)
        if status != self._status and status in ENDED:
            sink.end(ENDED[status], self._step, max(seconds(ended), latest))
        self._status = status
        self.problems = bad_rows(self._odd, self._path)

    def _about(self, connection: sqlite3.Connection, sink: Sink, began: float) -> None:
        query = (
            "select key, value from {} where run_uuid = ? and typeof(key) = 'text' and typeof(value) = 'text' "
            "order by rowid"
        )
        params = dict(connection.execute(query.format("params"), (self._key,)).fetchall())
        if params != self._params:
            self._params = params
            sink.hparams(flat(typed(params)), began)
        tags = dict(connection.execute(query.format("tags"), (self._key,)).fetchall())
        for key, value in tags.items():
            if key.startswith("mlflow.") or self._tags.get(key) == value:
                continue
            if key in self._tags:
                raise ReplacedError
            sink.text(f"tag/{key}", value, 0, began)
        self._tags = tags

    def _metrics(self, connection: sqlite3.Connection, sink: Sink) -> float:
        columns = "rowid, key, step, timestamp"
        rowid = self._last[0]
        if rowid:
            row = connection.execute(f"select {columns} from metrics where rowid = ?", (rowid,)).fetchone()
            if row != self._last:
                raise ReplacedError
        query = (
            f"select {columns}, value, is_nan from metrics where run_uuid = ? and rowid > ? order by rowid "
            f"limit {_AT_ONCE}"
        )
        latest = 0.0
        rows = SingleValues()
        while several := connection.execute(query, (self._key, self._last[0])).fetchall():
            self._last = several[-1][:4]
            release(connection)
            sound = [row for row in several if _is_sound(*row)]
            self._odd += len(several) - len(sound)
            if not sound:
                continue
            _, tags, steps, times, values, odd = zip(*sound, strict=True)
            rows.add(
                tags,
                steps,
                [time / 1000 for time in times],
                [_value(value, nan) for value, nan in zip(values, odd, strict=True)],
            )
            rows.write(sink)
            self._step = max(self._step, *steps)
            latest = max(latest, max(times) / 1000)
        return latest


def _value(value: float | None, is_nan: object) -> float:
    if value is None or is_nan:
        return float("nan")
    return value if abs(value) < _LARGEST else float("inf") if value > 0 else float("-inf")


def _is_sound(_row: int, key: object, step: object, time: object, value: object, _is_nan: object) -> bool:
    """Whether the values of a metric have the types that MLflow gives them: SQLite keeps any."""
    return (
        isinstance(key, str)
        and isinstance(step, int)
        and isinstance(time, int | float)
        and (value is None or isinstance(value, int | float))
    )


def seconds(milliseconds: object) -> float:
    return milliseconds / 1000 if isinstance(milliseconds, int | float) else 0.0


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
