"""Fewer points of each curve, never chosen at random: every nth, largest triangles, smallest and largest values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tbq.arguments import choice, whole
from tbq.columns.grouped import GroupedRows, complete

#: How `max_points` chooses rows: by the shape of the curve, or so that no peak is lost.
METHODS = ("triangle", "minmax")


def every(table: pa.Table, n: int) -> pa.Table:
    """Every nth row of each (run, tag), from the first on; omits rows without a run, tag, step or value.

    >>> table = pa.table({"run": ["a"] * 5, "tag": ["loss"] * 5, "step": range(5), "value": [0.0] * 5})
    >>> every(table, 2)["step"].to_pylist()
    [0, 2, 4]
    """
    n = whole("every", n, least=1)
    table = complete(table)
    if n == 1:
        return table
    rows = GroupedRows.of(table)
    place = np.arange(len(rows.run)) - np.repeat(rows.starts, rows.ends - rows.starts)
    return table.filter(pa.array(rows.in_table_order(place % n == 0)))


def max_points(table: pa.Table, n: int, method: str = "triangle") -> pa.Table:
    """At most `n` rows of each (run, tag), chosen to keep its shape.

    "triangle" is largest triangle three buckets, which keeps the first and the last point; "minmax" keeps the
    smallest and the largest value of each of n / 2 stretches. Rows stay unchanged, in their order; rows without a
    run, tag, step or value are omitted.

    >>> table = pa.table({"run": ["a"] * 5, "tag": ["t"] * 5, "step": range(5), "value": [0.0, 0.0, 9.0, 0.0, 0.0]})
    >>> max_points(table, 3)["step"].to_pylist()
    [0, 2, 4]
    """
    from tbq import _core

    n = whole("max_points", n, least=1)
    choice("method", method, METHODS)
    table = complete(table)
    rows = GroupedRows.of(table)
    steps, values = np.ascontiguousarray(rows.step, np.int64), np.ascontiguousarray(rows.value, np.float64)
    keep = np.zeros(len(values), np.uint8)
    _core.downsample(steps, values, rows.starts, n, method == "triangle", keep)
    if keep.all():
        return table
    return table.filter(pa.array(rows.in_table_order(keep.astype(bool))))
