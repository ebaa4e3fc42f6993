"""Hugging Face: the `trainer_state.json` of the newest checkpoint, which has the entire history."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.interface import Format, Log, ReplacedError
from tbq.source.formats.json_table import RowTable
from tbq.source.formats.sink import Sink
from tbq.source.formats.text_rows import json_rows

_HEAD = 1 << 16


class TrainerStateFormat(Format):
    """Recognised by the keys that the trainer writes."""

    def logs(self, path: str) -> Iterable[Log]:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
        keys = (b'"global_step"', b'"log_history"', b'"best_metric"', b'"epoch"')
        is_state = head.lstrip().startswith(b"{") and sum(key in head for key in keys) > 2
        return [Log("huggingface", path)] if is_state else []

    def translator(self, log: Log) -> _TrainerState:
        return _TrainerState(log.path)


class _TrainerState:
    """The file is written anew for each checkpoint; if its rows continue those before, only the new ones are added."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._rows: list[str] = []
        self._table = RowTable(path)
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        try:
            rows = list(json_rows(self._path))
        except RecursionError:
            raise SourceError("the JSON is nested too deeply", path=self._path, code="json") from None
        texts = [json.dumps(row, sort_keys=True) for row in rows]
        known = len(self._rows)
        if texts[:known] != self._rows:
            raise ReplacedError
        self._table.add(rows[known:], sink)
        self._rows = texts
        self.problems = self._table.notes()
