"""The rows of a scalar table as curves: one stretch of arrays a (run, tag), and the way back to the table's order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of, numbers
from tbq.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Curves:
    """`order` is the row of each value where the table was not grouped by run and tag, else None."""

    steps: NDArray[np.int64]
    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    order: NDArray[np.int64] | None

    @classmethod
    def of(cls, table: pa.Table) -> Curves:
        """The curves of a table; one that is grouped by run and tag, as tbq's are, is not copied."""
        if not {"run", "tag", "step", "value"} <= set(table.column_names):
            raise UsageError(
                f"curves are of scalars: want the columns run, tag, step, value, got {', '.join(table.column_names)}",
                hint="use log.scalars()",
            )
        steps = np.ascontiguousarray(numbers(table.column("step")), np.int64)
        values = np.ascontiguousarray(numbers(table.column("value")), np.float64)
        run, _ = codes_of(table.column("run"))
        tag, tags = codes_of(table.column("tag"))
        key = run.astype(np.int64) * (len(tags) + 1) + tag
        starts = _starts(key)
        if len(np.unique(key[starts])) == len(starts):
            return cls(steps, values, starts, None)
        order = np.argsort(key, kind="stable")
        return cls(steps[order], values[order], _starts(key[order]), order)

    def back(self, values: NDArray[Any]) -> pa.ChunkedArray:
        """Values of the curves as a column of the table."""
        if self.order is not None:
            placed = np.empty_like(values)
            placed[self.order] = values
            values = placed
        return pa.chunked_array([pa.array(values)])


def _starts(key: NDArray[np.int64]) -> NDArray[np.int64]:
    if not len(key):
        return np.zeros(0, np.int64)
    return np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1]).astype(np.int64)
