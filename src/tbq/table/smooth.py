"""Smoothing as TensorBoard draws it: an exponential moving average without the pull to zero at the start."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tbq.arguments import bad
from tbq.columns.grouped import NEEDED, GroupedRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def smooth(table: pa.Table, weight: float) -> pa.Table:
    """The scalar table with each (run, tag) smoothed, in the order of its rows.

    `weight` is TensorBoard's slider: 0 changes nothing, values near 1 smooth most. A non-finite value stays unchanged
    and does not count; a constant curve stays constant.

    >>> table = pa.table({"run": ["a"] * 3, "tag": ["loss"] * 3, "step": [0, 1, 2], "value": [1.0, 0.5, 0.0]})
    >>> smooth(table, 0.6)["value"].to_pylist()[:2]
    [1.0, 0.6875]
    """
    at = table.schema.get_field_index("value")
    return table.set_column(at, "value", smoothed(table, weight))


def smoothed(table: pa.Table, weight: float) -> pa.ChunkedArray:
    """The column `value`, smoothed row by row; a row without run, tag, step or value stays as it is."""
    rows = GroupedRows.of(table)
    values = np.ascontiguousarray(rows.value, np.float64)
    out = pa.array(rows.in_table_order(smoothed_values(values, rows.starts, weight)))
    if len(out) == len(table):
        return pa.chunked_array([out])
    from pyarrow import compute

    known = functools.reduce(compute.and_, (table[name].is_valid() for name in NEEDED))
    return compute.replace_with_mask(table["value"].cast(pa.float64()), known.combine_chunks(), out)


def ema(values: Sequence[float], weight: float) -> list[float]:
    """Smooth one curve.

    >>> ema([1.0, 0.5], 0.6)
    [1.0, 0.6875]
    """
    curve = np.ascontiguousarray(values, np.float64)
    return list(smoothed_values(curve, np.zeros(min(1, len(curve)), np.int64), weight).tolist())


def smoothed_values(
    values: NDArray[np.float64], starts: NDArray[np.int64], weight: float
) -> NDArray[np.float64]:
    """Smooth consecutive curves, each from one of `starts` to the next."""
    from tbq import _core

    check_weight(weight)
    out = np.empty(len(values))
    _core.smooth(values, starts, float(weight), out)
    return out


def check_weight(weight: float, argument: str = "weight") -> None:
    """Raise if this is not a smoothing weight."""
    number = isinstance(weight, int | float | np.integer | np.floating) and not isinstance(weight, bool)
    if not number or not 0 <= weight <= 1:
        raise bad(argument, weight, "a number from 0 to 1", hint="TensorBoard's default is 0.6")
