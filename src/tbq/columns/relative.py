"""Seconds since a run began: the one rule for exports, SQL, tables and lazy frames."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of

#: The name of the column beside `wall_time`.
COLUMN = "relative_time"


def relative_times(
    wall_times: pa.ChunkedArray, runs: pa.ChunkedArray | None, began: Mapping[str, float] | None
) -> pa.ChunkedArray:
    """Seconds since each run began: since its first record with a wall time in any of its files, or since the first
    value of a tag if that is earlier (in a converted log).

    `began` maps each run to that time; it is 0 for a run whose records have none. Without it (None), as for a table
    without a log, times count from the first row of each run.

    >>> relative_times(pa.chunked_array([[12.5]]), pa.chunked_array([["a"]]), {"a": 10.0}).to_pylist()
    [2.5]
    """
    seconds = wall_times.to_numpy()
    if runs is None:
        codes, names = np.zeros(len(seconds), np.int64), [""]
    else:
        indices, labels = codes_of(runs)
        codes, names = indices.astype(np.int64), labels.to_pylist()
    if began is None:
        starts = np.full(len(names) + 1, np.inf)
        np.fmin.at(starts, codes, seconds)
    else:
        starts = np.array([*(began.get(name, 0.0) for name in names), 0.0])
    with np.errstate(invalid="ignore"):  # a wall time may be infinite
        values = seconds - starts[codes]
    absent = wall_times.is_null().to_numpy() if wall_times.null_count else None
    return pa.chunked_array([pa.array(values, from_pandas=False, mask=absent)])


def run_column(table: pa.Table) -> pa.ChunkedArray | None:
    """The column of runs, if any; of two joined by a query, the first."""
    names = table.column_names
    return table.column(names.index("run")) if "run" in names else None
