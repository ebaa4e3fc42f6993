"""`CsvTable`: a CSV file of numbers, read by columns while it grows."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.csv_cells import OddCells, cells_of, numbers_of
from tbq.source.formats.interface import Reached, ReplacedError
from tbq.source.formats.sink import Sink, flat
from tbq.source.formats.steps import TIME_COLUMNS, StepColumn, filled
from tbq.source.formats.text_rows import STEP_COLUMNS
from tbq.source.formats.translation import unfinished
from tbq.source.growing import Growing
from tbq.text import counted

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

# What every CSV writer means by no value; `parsed` knows the same words in any case.
_BLANKS = ["", "na", "NA", "Na", "none", "None", "NONE", "null", "Null", "NULL"]


class CsvTable:
    """Rows are read once their line is complete. If the header or an earlier row changes, the file is read anew."""

    def __init__(self, path: str, hparams: Mapping[str, Any]) -> None:
        self._path = path
        self._hparams = hparams
        self._reached = Reached()
        self._header = b""
        self._names: list[str] = []
        self._steps = StepColumn()
        self._chosen: str | None = None
        self._time: str | None = None
        self._last_step = 0
        self._at_end = False  # the last line was read although it is not complete
        self._bad_lines = 0
        self._odd = OddCells()
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        with open(self._path, "rb") as file:
            size = self._reached.check(file)
            if self._at_end and size > self._reached.position:
                raise ReplacedError
            file.seek(self._reached.position)
            data = file.read(size - self._reached.position)
            end = data.rfind(b"\n") + 1
            rest = unfinished(self._path, self._reached.position + end, size)
            header = self._header or data[: data.find(b"\n") + 1]
            if rest and not Growing()(self._path, size) and data.count(b",", end) == header.count(b","):
                end, rest, self._at_end = len(data), [], True
            data = data[:end]
            if not self._header and data:
                self._begin(data, sink)
                self._add(data[len(self._header) :], sink)
            elif data:
                self._add(data, sink)
            self._reached.advance(file, self._reached.position + end)
        said = self._steps.choice()[1]
        notes = [Problem("steps", "info", said, path=self._path)] if said else []
        self.problems = [*self._bad_rows(), *self._odd.problems(self._path), *notes, *rest]

    def _bad_rows(self) -> list[Problem]:
        if not self._bad_lines:
            return []
        message = f"{counted(self._bad_lines, 'line')} left out: not as many cells as the header"
        return [Problem("bad_rows", "error", message, path=self._path)]

    def _begin(self, data: bytes, sink: Sink) -> None:
        self._header = data[: data.find(b"\n") + 1]
        text = self._header.decode("utf-8-sig", "replace")
        self._names = [name.strip() for name in next(csv.reader(io.StringIO(text, newline="")), [])]
        if len(set(self._names)) != len(self._names):
            raise SourceError("has a column twice", path=self._path, hint="rename one of them", code="csv")
        if self._hparams:
            sink.hparams(flat(self._hparams), 0.0)

    def _add(self, data: bytes, sink: Sink) -> None:
        import numpy as np

        if not data.strip():
            return
        table = self._table(data)
        count = table.num_rows
        columns = {name: numbers_of(table.column(place)) for place, name in enumerate(self._names)}
        for place, name in enumerate(self._names):
            self._odd.add(name, table.column(place), columns[name][1])
        judged = np.zeros(count, bool)
        for name, (_, present) in columns.items():
            if name not in STEP_COLUMNS and name not in TIME_COLUMNS:
                judged |= present.astype(bool)
        cells = {
            name: cells_of(table.column(self._names.index(name)))
            for name in STEP_COLUMNS
            if name in self._names
        }
        first = not self._steps.rows
        self._steps.add_columns(count, judged, cells)
        chosen, _ = self._steps.choice()
        time = next(
            (
                name
                for name in TIME_COLUMNS
                if name == self._time or (name in columns and columns[name][1].any())
            ),
            None,
        )
        if not first and (chosen != self._chosen or time != self._time):
            raise ReplacedError
        self._chosen, self._time = chosen, time
        steps, stepless = self._steps_of(chosen, cells, count)
        times = np.full(count, np.nan) if time is None else columns[time][0]
        metrics = {name: column for name, column in columns.items() if name not in (chosen, time)}
        for _, present in metrics.values():
            present[stepless] = 0
        sink.columns(steps, np.ascontiguousarray(times), metrics)

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
            return np.ascontiguousarray(known, np.int64), []
        steps = filled(known, self._last_step)
        self._last_step = next((step for step in reversed(steps) if step is not None), self._last_step)
        stepless = [row for row, step in enumerate(steps) if step is None]
        return np.array([step or 0 for step in steps], np.int64), stepless

    def _table(self, data: bytes) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        bad = 0

        def skip(_row: Any) -> str:
            nonlocal bad
            bad += 1
            return "skip"

        try:
            data.decode()
        except UnicodeDecodeError:
            data = data.decode("utf-8", "replace").encode()
        places = [str(place) for place in range(len(self._names))]
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(data),
                read_options=arrow_csv.ReadOptions(
                    column_names=places, use_threads=False, block_size=1 << 30
                ),
                parse_options=arrow_csv.ParseOptions(invalid_row_handler=skip),
                convert_options=arrow_csv.ConvertOptions(null_values=_BLANKS, strings_can_be_null=True),
            )
        except pa.ArrowInvalid as wrong:
            reason = str(wrong).splitlines()[0]
            raise SourceError(f"is not a CSV file: {reason}", path=self._path, code="csv") from None
        self._bad_lines += bad
        return table
