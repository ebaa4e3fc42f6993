"""The wide layout at the steps of one tag: what the other tags had last been when it was logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tbq.columns.codes import begins, codes_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def as_of(table: pa.Table, column: str, others: Sequence[str]) -> pa.Table:
    """The rows of a wide table that have a value in `column`; the `others` are filled from earlier rows of the run.

    NaN is a value. A tag that was not logged before a step stays null there.

    >>> rows = pa.table({"run": ["a"] * 3, "step": [0, 1, 2], "lr": [0.1, None, None], "loss": [None, 3.0, 2.0]})
    >>> as_of(rows, "loss", ["lr"]).to_pylist()[1]
    {'run': 'a', 'step': 2, 'lr': 0.1, 'loss': 2.0}
    """
    count = len(table)
    run, _ = codes_of(table["run"])
    place = np.arange(count)
    starts = np.maximum.accumulate(np.where(begins(run), place, 0))
    kept = np.flatnonzero(np.asarray(table[column].is_valid()))
    columns = {}
    for name in table.column_names:
        if name not in others:
            columns[name] = table[name].take(pa.array(kept))
            continue
        valid = np.asarray(table[name].is_valid())
        source = np.maximum.accumulate(np.where(valid, place, -1))[kept]
        columns[name] = table[name].take(pa.array(source, mask=source < starts[kept]))
    return pa.table(columns)
