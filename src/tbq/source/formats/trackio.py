"""trackio: one SQLite database per project."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.interface import Format, Log, ReplacedError, Stamp, stamp_of_files
from tbq.source.formats.run_names import part
from tbq.source.formats.sink import Sink, flat
from tbq.source.formats.sqlite import Growth, bad_rows, columns, database, is_database, require, tables

_SCHEMA = {
    "metrics": ("id", "timestamp", "run_name", "step", "metrics"),
    "configs": ("id", "run_name", "config", "created_at"),
}
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_GROUP = "_Group"


class TrackioFormat(Format):
    """Recognised by its tables."""

    def __init__(self) -> None:
        self._growth: dict[str, Growth] = {}

    def logs(self, path: str) -> Iterable[Log]:
        if not is_database(path):
            return []
        with database(path) as connection:
            known = tables(connection)
            if not {*_SCHEMA} <= known or "experiments" in known:
                return []
            if not {"run_name", "metrics"} <= {*columns(connection, "metrics")}:
                return []
            require(connection, path, "trackio", _SCHEMA)
            key = _key_of(connection)
            parts = " union all ".join(
                f"select {key} as key, run_name as name, id from {table}"
                for table in ("metrics", "configs", "system_metrics")
                if table in known and key in columns(connection, table)
            )
            rows = connection.execute(
                f"select key, max(name), min(id) as first from ({parts}) group by key order by first, key"
            ).fetchall()
            self._growth[path] = Growth(
                {table: (key, "id") for table in ("metrics", "system_metrics", "configs") if table in known},
                f"select {key}, config from configs",
            )
        out: dict[str, Log] = {}
        for run, name, _ in rows:
            below = part(name)
            if below in out:
                below = f"{below}-{str(run)[:8]}"
            out[below] = Log("trackio", path, below, str(run))
        return list(out.values())

    def stamp(self, log: Log) -> Stamp | None:
        if log.path not in self._growth:
            with contextlib.suppress(OSError, SourceError, ReplacedError):  # the reader of the run reports it
                self.logs(log.path)
        growth = self._growth.get(log.path)
        return growth.stamp(log) if growth else stamp_of_files(log.path, log.path + "-wal")

    def translator(self, log: Log) -> _Trackio:
        return _Trackio(log)


def _key_of(connection: sqlite3.Connection) -> str:
    """The column that tells runs apart. Before 0.30, runs had only names."""
    return "run_id" if "run_id" in columns(connection, "metrics") else "run_name"


class _Trackio:
    def __init__(self, log: Log) -> None:
        self._path, self._key = log.path, log.key
        self._file: int | None = None
        self._last: dict[str, tuple[Any, ...]] = {}  # table → the last row that was read
        self._config: object = None
        self._system_step = -1
        self._odd = 0  # rows that cannot be read
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        with database(self._path) as connection:
            file = os.stat(self._path).st_ino
            if self._file not in (None, file):
                raise ReplacedError
            self._file = file
            key = _key_of(connection)
            self._about(connection, key, sink)
            for table in ("metrics", "system_metrics"):
                if table in tables(connection):
                    self._rows(connection, table, key, sink)
        self.problems = bad_rows(self._odd, self._path)

    def _about(self, connection: sqlite3.Connection, key: str, sink: Sink) -> None:
        query = f"select config, created_at from configs where {key} = ? order by id desc limit 1"
        row = connection.execute(query, (self._key,)).fetchone()
        if row is None or row == self._config:
            return
        if self._config is not None:
            raise ReplacedError
        self._config = row
        config = _parsed(row[0]) or {}
        group = config.get(_GROUP)
        shown = {name: value for name, value in config.items() if not name.startswith("_")}
        sink.hparams(flat(shown), _seconds(row[1]), group if isinstance(group, str) else "")

    def _rows(self, connection: sqlite3.Connection, table: str, key: str, sink: Sink) -> None:
        last = self._last.get(table, (0, None))
        if last[0]:
            row = connection.execute(f"select id, timestamp from {table} where id = ?", (last[0],)).fetchone()
            if row != last:
                raise ReplacedError
        step = "step" if table == "metrics" else "null"
        rows = connection.execute(
            f"select id, timestamp, {step}, metrics from {table} where {key} = ? and id > ? order by id",
            (self._key, last[0]),
        )
        for number, when, step, content in rows:
            time = _seconds(when)
            values = _parsed(content)
            self._odd += values is None
            if table == "metrics":
                at = step if isinstance(step, int) else 0
                self._add(values or {}, at, time, "", sink)
                self._system_step = max(self._system_step, at - 1)
            else:
                self._system_step += 1
                self._add(values or {}, self._system_step, time, "system/", sink)
            self._last[table] = number, when

    def _add(self, values: Mapping[str, Any], step: int, time: float, prefix: str, sink: Sink) -> None:
        numbers: dict[str, float] = {}
        for name, value in flat(values).items():
            number = _WORDS.get(value) if isinstance(value, str) else value
            if number is not None:
                numbers[prefix + name] = number
            elif isinstance(value, str) and not value.startswith(("[", "{")):
                sink.text(prefix + name, value, step, time)
        sink.scalars(numbers, step, time)


def _parsed(content: object) -> dict[str, Any] | None:
    """A JSON object; None if it is not one."""
    try:
        values = json.loads(content) if isinstance(content, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _seconds(when: object) -> float:
    try:
        return datetime.fromisoformat(str(when)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
