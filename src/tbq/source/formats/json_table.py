"""`JsonLines`: one JSON object per line, read while it grows; and rows of objects as events."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.interface import Reached, ReplacedError
from tbq.source.formats.sink import Sink, flat
from tbq.source.formats.steps import TIME_COLUMNS, StepColumn, filled, number
from tbq.source.formats.text_rows import flat_row, loads
from tbq.source.formats.translation import unfinished
from tbq.text import counted

Row = Mapping[str, Any]


class RowTable:
    """Rows as events, each with the numbers of one row."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._steps = StepColumn()
        self._chosen: str | None = None
        self._time: str | None = None
        self._timed: set[str] = set()  # the columns of times that have some
        self._last_step = 0
        self._numeric: set[str] = set()
        self._odd: dict[str, tuple[int, str]] = {}  # by tag with numbers: how many texts, and the first

    def add(self, rows: Sequence[Row], sink: Sink) -> None:
        """Add rows. Raises ReplacedError if they change which column holds the steps."""
        if not rows:
            return
        first = not self._steps.rows
        before = self._steps.rows
        self._steps.add_rows(rows)
        chosen, _ = self._steps.choice()
        self._timed.update(
            name for name in TIME_COLUMNS if any(number(row.get(name)) is not None for row in rows)
        )
        time = next((name for name in TIME_COLUMNS if name in self._timed), None)
        if not first and (chosen != self._chosen or time != self._time):
            raise ReplacedError
        self._chosen, self._time = chosen, time
        steps: list[int | None] = (
            list(range(before, before + len(rows)))
            if chosen is None
            else filled([row.get(chosen) for row in rows], self._last_step)
        )
        self._last_step = next((step for step in reversed(steps) if step is not None), self._last_step)
        for row, step in zip(rows, steps, strict=True):
            if step is None:
                continue
            wall_time = None if time is None else number(row.get(time))
            values = {
                tag: value
                for tag, value in row.items()
                if tag not in (chosen, time) and isinstance(value, int | float)
            }
            when = math.nan if wall_time is None else wall_time
            sink.scalars(values, step, when)
            self._numeric.update(values)
            for tag, value in row.items():
                if not isinstance(value, str) or tag in (chosen, time):
                    continue
                if tag in self._numeric:
                    count, text = self._odd.get(tag, (0, value))
                    self._odd[tag] = count + 1, text
                else:
                    sink.text(tag, value, step, when)

    def notes(self) -> list[Problem]:
        """Remarks about the steps, and about texts among numbers."""
        said = self._steps.choice()[1]
        notes = [Problem("steps", "info", said, path=self._path)] if said else []
        for tag, (count, text) in self._odd.items():
            message = f"{counted(count, 'value')} of {tag!r} left out: not a number ({text[:40]!r})"
            notes.append(Problem("bad_rows", "error", message, path=self._path))
        return notes


class JsonLines:
    """Rows are read once their line is complete."""

    def __init__(self, path: str, hparams: Callable[[], Row]) -> None:
        self._path = path
        self._hparams = hparams
        self._reached = Reached()
        self._table = RowTable(path)
        self._lines = 0
        self._bad: list[Problem] = []
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        with open(self._path, "rb") as file:
            size = self._reached.check(file)
            file.seek(self._reached.position)
            data = file.read(size - self._reached.position)
            end = data.rfind(b"\n") + 1
            if not data[end:].strip() or self._is_row(data[end:]):  # a last line without a newline
                end = len(data)
            if not self._lines and end:
                hparams = flat(self._hparams())
                if hparams:
                    sink.hparams(hparams, 0.0)
            rows = []
            for line in data[:end].split(b"\n"):
                self._lines += 1
                row = self._row(line) if line.strip() else None
                if row is not None:
                    rows.append(row)
            self._lines -= 1
            self._table.add(rows, sink)
            self._reached.advance(file, self._reached.position + end)
        rest = unfinished(self._path, self._reached.position, size)
        self.problems = [*self._bad, *self._table.notes(), *rest]

    def _is_row(self, line: bytes) -> bool:
        try:
            return isinstance(loads(line.decode(), self._path), dict)
        except (ValueError, RecursionError, SourceError):
            return False

    def _row(self, line: bytes) -> Row | None:
        try:
            row = loads(line.decode("utf-8-sig"), self._path)
            if isinstance(row, dict):
                return flat_row(row, self._path)
            wrong = f"is a {type(row).__name__}, want an object"
        except SourceError as twice:
            wrong = twice.message
        except (ValueError, RecursionError) as error:
            wrong = f"is not JSON: {error}"
        if not self._bad:
            message = f"line {self._lines} {wrong}; it is left out"
            self._bad = [Problem("bad_rows", "error", message, path=self._path)]
        return None
