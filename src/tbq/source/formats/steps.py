"""Which column of a table of metrics holds the steps: one rule for rows and for columns, while they grow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tbq.source.formats.text_rows import STEP_COLUMNS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TIME_COLUMNS = ("wall_time", "timestamp")

Row = Mapping[str, Any]


@dataclass
class _StepCells:
    """What the cells of a column are: how many have a value, which are blank, and the first that is not a step."""

    known: int = 0
    blank: int = 0
    first_blank: int = 0
    odd: tuple[int, object] | None = None


@dataclass
class StepColumn:
    """Chooses the column with the steps, from all rows so far.

    It is the first of the step columns that has a whole number in every row; else the first that has only whole
    numbers and blanks. A blank row gets the step of the row before it. One column is used for the whole file, because
    steps of two columns cannot be compared. The other columns stay metrics. A row without metrics may have no step:
    if its cell is not a whole number.
    """

    rows: int = 0
    _all: dict[str, _StepCells] = field(default_factory=dict)
    _judged: dict[str, _StepCells] = field(default_factory=dict)  # of rows with metrics
    _count: int = 0  # how many rows have metrics

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Take rows that follow those before."""
        for row in rows:
            self.rows += 1
            judged = any(map(_is_metric, row.items()))
            self._count += judged
            for name in STEP_COLUMNS:
                cell = row.get(name)
                odd = None if blank(cell) or step(cell) is not None else cell
                _note(self._all, name, self.rows, cell, odd)
                if judged:
                    _note(self._judged, name, self.rows, cell, odd)

    def add_columns(
        self, count: int, judged: NDArray[np.bool_], cells_of: Mapping[str, Sequence[Any] | NDArray[Any]]
    ) -> None:
        """Take `count` rows as columns; `judged` are the rows with metrics."""
        import numpy as np

        for name, cells in cells_of.items():
            if isinstance(cells, np.ndarray):  # whole numbers, all of them known
                for of, rows in ((self._all, count), (self._judged, int(judged.sum()))):
                    of.setdefault(name, _StepCells()).known += rows
                continue
            for row, cell in enumerate(cells):
                odd = None if blank(cell) or step(cell) is not None else cell
                _note(self._all, name, self.rows + row + 1, cell, odd)
                if judged[row]:
                    _note(self._judged, name, self.rows + row + 1, cell, odd)
        self.rows += count
        self._count += int(judged.sum())

    def choice(self) -> tuple[str | None, str]:
        """The column (None if rows are numbered), and what there is to say about it; empty if nothing."""
        cells_of = self._judged if self._count else self._all
        rows = self._count or self.rows
        partial: tuple[str, str] | None = None
        refused = []
        for name in STEP_COLUMNS:
            cells = cells_of.get(name)
            if cells is None or not cells.known:
                continue
            if cells.odd is not None:
                row, cell = cells.odd
                refused.append(f"column {name!r} has {cell!r} in row {row}, want a whole number of 64 bits")
            elif cells.blank:
                empty = f"is blank in {cells.blank:,} of {rows:,} rows, first in row {cells.first_blank}"
                partial = partial or (name, f"column {name!r} {empty}")
            else:
                if partial:
                    refused.append(partial[1])
                return name, _said(refused, f"the steps are those of {name!r}")
        if partial is None:
            return None, _said(refused, "the rows are numbered instead")
        return partial[0], _said([*refused, partial[1]], "such a row gets the step of the row before it")


def _note(cells_of: dict[str, _StepCells], name: str, number: int, cell: object, odd: object) -> None:
    cells = cells_of.setdefault(name, _StepCells())
    if blank(cell):
        cells.first_blank = cells.first_blank or number
        cells.blank += 1
    else:
        cells.known += 1
        if odd is not None and cells.odd is None:
            cells.odd = number, cell


def _said(reasons: Sequence[str], outcome: str) -> str:
    return f"{'; '.join(reasons)}: {outcome}" if reasons else ""


def filled(cells: Sequence[Any], before: int = 0) -> list[int | None]:
    """The step of each row. A blank row gets the step of the row before it; a row with anything else has none."""
    steps: list[int | None] = []
    for cell in cells:
        known = step(cell)
        if known is None and not blank(cell):
            steps.append(None)
            continue
        before = before if known is None else known
        steps.append(before)
    return steps


def number(value: Any) -> float | None:
    """A value as a number; None if it is not one."""
    if value is None or isinstance(value, str | bytes):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return None


def _is_metric(item: tuple[str, Any]) -> bool:
    name, value = item
    return name not in STEP_COLUMNS and name not in TIME_COLUMNS and number(value) is not None


def blank(value: Any) -> bool:
    """Whether a cell is empty."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def step(value: Any) -> int | None:
    """A whole number of 64 bits, exactly; None for every other value."""
    real = number(value)
    if real is None or not math.isfinite(real) or real != math.floor(real):
        return None
    return int(value) if -(2**63) <= int(value) < 2**63 else None
