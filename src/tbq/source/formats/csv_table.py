"""`CsvTable`: a CSV file of numbers, read by columns while it grows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq import _core
from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.interface import Reached, ReplacedError
from tbq.source.formats.sink import Sink, flat
from tbq.source.formats.steps import TIME_COLUMNS, StepColumn, filled
from tbq.source.formats.text_rows import NOT_METRICS, STEP_COLUMNS
from tbq.source.formats.translation import unfinished
from tbq.source.growing import Growing
from tbq.text import counted, some

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLANK, _WHOLE, _NUMBER = 0, 1, 2  # what the core says of a cell


class _CsvColumn(NamedTuple):
    values: NDArray[np.float64]
    present: NDArray[np.uint8]
    kinds: NDArray[np.uint8]
    integers: NDArray[np.int64]
    texts: int
    first_text: bytes

    def cells(self) -> Any:
        """The cells of a column that may hold the steps: an array if all are whole numbers, else a list."""
        if (self.kinds == _WHOLE).all():
            return self.integers
        text = self.first_text.decode("utf-8", "replace")
        rows = zip(self.kinds.tolist(), self.integers.tolist(), self.values.tolist(), strict=True)
        return [
            integer if kind == _WHOLE else value if kind == _NUMBER else None if kind == _BLANK else text
            for kind, integer, value in rows
        ]


class CsvTable:
    """Rows are read once their line is complete. If the header or an earlier row changes, the file is read anew."""

    def __init__(self, path: str, hparams: Mapping[str, Any]) -> None:
        self._path = path
        self._hparams = hparams
        self._reached = Reached()
        self._reader: _core.CsvReader | None = None
        self._names: list[str] = []
        self._steps = StepColumn()
        self._chosen: str | None = None
        self._time: str | None = None
        self._last_step = 0
        self._at_end = False  # the last line was read although it is not complete
        self._numeric: set[str] = set()  # columns that have numbers
        self._texts: dict[str, tuple[int, str]] = {}  # by column: how many cells are texts, and the first
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        with open(self._path, "rb") as file:
            size = self._reached.check(file)
            if self._at_end and size > self._reached.position:
                raise ReplacedError
            file.seek(self._reached.position)
            data = file.read(size - self._reached.position)
            used = 0
            if self._reader is None:
                used = data.find(b"\n") + 1
                self._reader = self._begin(data[:used], sink) if used else None
            reader = self._reader
            if reader is not None:
                used += reader.read(data[used:] if used else data)
                line = data[used:] + b"\n"
                if used < len(data) and not Growing()(self._path, size) and self._is_row(line):
                    reader.read(line)
                    self._at_end, used = True, len(data)
                self._add([_CsvColumn(*reader.take(place)) for place in range(len(self._names))], sink)
            position = self._reached.position + used
            self._reached.advance(file, position)
        self.problems = [*self._remarks(), *unfinished(self._path, position, size)]

    def _begin(self, header: bytes, sink: Sink) -> _core.CsvReader:
        text = header.decode("utf-8-sig", "replace")
        self._names = [name.strip() for name in next(csv.reader(io.StringIO(text, newline="")), [])]
        if len(set(self._names)) != len(self._names):
            raise SourceError("has a column twice", path=self._path, hint="rename one of them", code="csv")
        if self._hparams:
            sink.hparams(flat(self._hparams), 0.0)
        steps = [place for place, name in enumerate(self._names) if name in STEP_COLUMNS]
        return _core.CsvReader(len(self._names), steps)

    def _is_row(self, line: bytes) -> bool:
        reader = _core.CsvReader(len(self._names), [])
        return reader.read(line) > 0 and not reader.bad_lines

    def _add(self, read: list[_CsvColumn], sink: Sink) -> None:
        import numpy as np

        columns = dict(zip(self._names, read, strict=True))
        count = len(read[0].values)
        if not count:
            return
        judged = np.zeros(count, bool)
        for name, column in columns.items():
            if column.present.any():
                self._numeric.add(name)
            if column.texts:
                before, text = self._texts.get(name, (0, column.first_text.decode("utf-8", "replace")))
                self._texts[name] = before + column.texts, text
            if name not in STEP_COLUMNS and name not in TIME_COLUMNS:
                judged |= column.present.astype(bool)
        cells = {name: columns[name].cells() for name in STEP_COLUMNS if name in columns}
        first = not self._steps.rows
        self._steps.add_columns(count, judged, cells)
        chosen, _ = self._steps.choice()
        time = next((name for name in TIME_COLUMNS if name in self._numeric), None)
        if not first and (chosen != self._chosen or time != self._time):
            raise ReplacedError
        self._chosen, self._time = chosen, time
        steps, stepless = self._steps_of(chosen, cells, count)
        times = np.full(count, np.nan)
        if time is not None:
            np.copyto(times, columns[time].values, where=columns[time].present.astype(bool))
        metrics = {
            name: (column.values, column.present)
            for name, column in columns.items()
            if name not in (chosen, time)
        }
        for _, present in metrics.values():
            present[stepless] = 0
        sink.columns(steps, times, metrics)

    def _steps_of(
        self, chosen: str | None, cells: Mapping[str, Any], count: int
    ) -> tuple[NDArray[np.int64], list[int]]:
        """The step of each row, and the rows that have none."""
        import numpy as np

        if chosen is None:
            return np.arange(self._steps.rows - count, self._steps.rows, dtype=np.int64), []
        known = cells[chosen]
        if isinstance(known, np.ndarray):
            self._last_step = int(known[-1])
            return known, []
        steps = filled(known, self._last_step)
        self._last_step = next((step for step in reversed(steps) if step is not None), self._last_step)
        stepless = [row for row, step in enumerate(steps) if step is None]
        return np.array([step or 0 for step in steps], np.int64), stepless

    def _remarks(self) -> Iterator[Problem]:
        """What was left out, and what there is to say about the steps."""
        bad_lines = self._reader.bad_lines if self._reader is not None else 0
        if bad_lines:
            message = f"{counted(bad_lines, 'line')} left out: not as many cells as the header"
            yield Problem("bad_rows", "error", message, path=self._path)
        odd = [name for name in self._names if name in self._texts]
        texts = [name for name in odd if name not in self._numeric and name not in NOT_METRICS]
        if texts:
            message = f"left out, because no cell is a number: {some(list(map(repr, texts)))}"
            yield Problem("bad_rows", "info", message, path=self._path)
        for name in odd:
            if name in self._numeric:
                count, first = self._texts[name]
                message = (
                    f"{counted(count, 'cell')} of column {name!r} left out: not a number ({first[:40]!r})"
                )
                yield Problem("bad_rows", "error", message, path=self._path)
        said = self._steps.choice()[1]
        if said:
            yield Problem("steps", "info", said, path=self._path)
