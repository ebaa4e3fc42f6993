"""The cells of a CSV file's columns as numbers, and those that are neither numbers nor blank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tbq.problems import Problem
from tbq.source.formats.text_rows import NOT_METRICS, parsed
from tbq.text import counted, some

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


class OddCells:
    """Counts the cells that are texts, in columns that have numbers too."""

    def __init__(self) -> None:
        self._numeric: set[str] = set()
        self._odd: dict[str, tuple[int, str]] = {}  # by column: how many, and the first

    def add(self, name: str, column: pa.ChunkedArray, present: NDArray[np.uint8]) -> None:
        """Take more cells of a column; `present` is 1 for each that has a number."""
        if present.any():
            self._numeric.add(name)
        if column.null_count + int(present.sum()) == len(column):
            return
        texts = [
            str(cell) for cell, is_number in zip(column.to_pylist(), present, strict=True) if not is_number
        ]
        odd = [text for text in texts if text != "None" and isinstance(parsed(text), str)]
        if odd:
            count, first = self._odd.get(name, (0, odd[0]))
            self._odd[name] = count + len(odd), first

    def problems(self, path: str) -> Iterable[Problem]:
        """One problem per column with numbers and texts, and a note of the columns without numbers."""
        texts = [name for name in self._odd if name not in self._numeric and name not in NOT_METRICS]
        if texts:
            message = f"left out, because no cell is a number: {some(list(map(repr, texts)))}"
            yield Problem("bad_rows", "info", message, path=path)
        for name, (count, first) in self._odd.items():
            if name in self._numeric:
                message = (
                    f"{counted(count, 'cell')} of column {name!r} left out: not a number ({first[:40]!r})"
                )
                yield Problem("bad_rows", "error", message, path=path)


def cells_of(column: pa.ChunkedArray) -> Any:
    """The cells of a column that may hold the steps: an array if all are whole numbers, else a list."""
    import pyarrow as pa

    if pa.types.is_int64(column.type) and not column.null_count:
        return column.to_numpy()
    cells = column.to_pylist()
    return [parsed(cell) if isinstance(cell, str) else cell for cell in cells]


def numbers_of(column: pa.ChunkedArray) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """A column as float64, and 1 for each cell that has a number."""
    import numpy as np
    import pyarrow as pa

    kind = column.type
    count = len(column)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        present = np.ones(count, np.uint8)
        if column.null_count:
            present = column.is_valid().to_numpy().astype(np.uint8)
            column = column.fill_null(False if pa.types.is_boolean(kind) else 0)
        return np.ascontiguousarray(column.to_numpy(), np.float64), present
    if pa.types.is_string(kind):
        cells = [None if cell is None else parsed(cell) for cell in column.to_pylist()]
        numbers = [None if cell is None or isinstance(cell, str) else float(cell) for cell in cells]
        return (
            np.array([0.0 if each is None else each for each in numbers], np.float64),
            np.array([each is not None for each in numbers], np.uint8),
        )
    return np.zeros(count), np.zeros(count, np.uint8)
