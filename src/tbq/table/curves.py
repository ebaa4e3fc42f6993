"""The rows of a scalar table as curves: one slice of arrays per run and tag, and the way back to the table."""

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
    """`order` holds the table row of each value if the table was not grouped by run and tag, otherwise None."""

    steps: NDArray[np.int64]
    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    order: NDArray[np.int64] | None

    @classmethod
    def of(cls, table: pa.Table) -> Curves:
        """The curves of a table; a table grouped by run and tag, as tbq's are, is not copied."""
        if not {"run", "tag", "step", "value"} <= set(table.column_names):
            raise UsageError(
                f"curves need scalars: want the columns run, tag, step, value, got {', '.join(table.column_names)}",
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
            in_order = np.empty_like(values)
            in_order[self.order] = values
            values = in_order
        return pa.chunked_array([pa.array(values)])


def _starts(key: NDArray[np.int64]) -> NDArray[np.int64]:
    if not len(key):
        return np.zeros(0, np.int64)
    return np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1]).astype(np.int64)
