"""JSON lines: one object with a step and numbers per line, as many training programs write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tbq.errors import SourceError
from tbq.source.formats.interface import Format, Log
from tbq.source.formats.json_table import JsonLines
from tbq.source.formats.steps import TIME_COLUMNS, number, step
from tbq.source.formats.text_rows import STEP_COLUMNS, flat_row, loads

_HEAD = 1 << 16
_LONGEST = 200  # characters of a text in a log; data sets have longer ones
_ROWS = 20


class JsonLinesFormat(Format):
    """Recognised by its first lines: the first has a step and a number, none a long text or a list; steps go back
    only to an earlier one, as those of a resumed run do. Lines that are torn or have no step do not hide the others."""

    def logs(self, path: str) -> Iterable[Log]:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
        steps: list[int] = []
        for line in head.split(b"\n")[:-1][:_ROWS]:
            row = _row(line, path) if line.strip() else {}
            if row == {} or (row is None and steps):
                continue
            if row is None:
                return []
            own = [step(row[name]) for name in STEP_COLUMNS if name in row]
            others = [row[name] for name in row if name not in STEP_COLUMNS and name not in TIME_COLUMNS]
            if not all(map(_is_short, others)):
                return []
            if not own or own[0] is None or not any(number(value) is not None for value in others):
                if not steps:
                    return []
            elif steps and own[0] < steps[-1] and own[0] not in steps[1:]:
                return []
            else:
                steps.append(own[0])
        return [Log("jsonl", path)] if steps else []

    def translator(self, log: Log) -> JsonLines:
        return JsonLines(log.path, dict)


def _row(line: bytes, path: str) -> dict[str, Any] | None:
    try:
        row = loads(line.decode("utf-8-sig"), path)
        return flat_row(row, path) if isinstance(row, dict) else None
    except (ValueError, RecursionError, SourceError):
        return None


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST
    return value is None or isinstance(value, int | float | bool)
