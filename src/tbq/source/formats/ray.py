"""Ray Tune: `result.json` (JSON lines) or `progress.csv` in the folder of each trial."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from tbq.errors import SourceError
from tbq.source.formats.csv_table import CsvTable
from tbq.source.formats.interface import Format, Log, Translator
from tbq.source.formats.json_table import JsonLines
from tbq.source.formats.text_rows import loads

_HEAD = 1 << 20
_MARKS = ("trial_id", "time_total_s", "time_this_iter_s")
_MOST = 1 << 20


class RayFormat(Format):
    """Recognised by its columns: `training_iteration`, and those that only Ray writes."""

    def logs(self, path: str) -> Iterable[Log]:
        if path.endswith(".csv"):
            with open(path, "rb") as file:
                names = file.readline(1 << 16).decode("utf-8", "replace").strip().split(",")
        else:
            with open(path, "rb") as file:
                line = file.readline(_HEAD)
            try:
                row = loads(line.decode(), path) if line.startswith(b"{") and line.endswith(b"\n") else None
            except (ValueError, RecursionError, SourceError):
                row = None
            names = list(row) if isinstance(row, dict) else []
        is_ray = "training_iteration" in names and any(mark in names for mark in _MARKS)
        return [Log("ray", path)] if is_ray else []

    def translator(self, log: Log) -> Translator:
        def hparams() -> dict[str, Any]:
            return _params(os.path.join(os.path.dirname(log.path), "params.json"))

        return CsvTable(log.path, hparams()) if log.path.endswith(".csv") else JsonLines(log.path, hparams)


def _params(path: str) -> dict[str, Any]:
    if not os.path.isfile(path):
        return {}
    try:
        with open(path, "rb") as file:
            params = json.loads(file.read(_MOST))
    except (OSError, ValueError, RecursionError):
        return {}
    return params if isinstance(params, dict) else {}
