"""The order of rows: in a log by run, tag, and order of logging; in a data file by tag, then by run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of, numbers, order_of, starts_of
from tbq.lake.layout import ROW
from tbq.schema import SERIES


def labels_of(kind: str) -> tuple[str, ...]:
    """The columns that the rows of a table are ordered by, before their number.

    >>> labels_of("scalars"), labels_of("runs")
    (('run', 'tag'), ('run',))
    """
    return ("run", "tag") if kind in SERIES else ("run",)


def file_order(kind: str) -> tuple[str, ...]:
    """The columns that a data file is sorted by."""
    return (*reversed(labels_of(kind)), ROW)


def in_log_order(table: pa.Table, labels: Sequence[str]) -> pa.Table:
    """The rows sorted by labels, and by their number if the table has that column. A sorted table is not copied.

    If the table has no number, rows with the same labels must already be in order.
    """
    if len(table) < 2:
        return table
    ranks = [_ranks(table, name) for name in labels]
    starts = starts_of(*ranks)
    order = np.lexsort([rank[starts] for rank in reversed(ranks)])
    rows = None
    if bool((order != np.arange(len(starts))).any()):
        lengths = np.diff(np.append(starts, len(table)))[order]
        ends = np.cumsum(lengths)
        rows = np.arange(len(table)) + np.repeat(starts[order] - (ends - lengths), lengths)
    if ROW in table.column_names:
        number = numbers(table[ROW])
        ordered = number if rows is None else number[rows]
        same = np.ones(len(table) - 1, bool)
        for rank in ranks:
            of_row = rank if rows is None else rank[rows]
            same &= of_row[1:] == of_row[:-1]
        if bool((same & (ordered[1:] < ordered[:-1])).any()):
            rows = np.lexsort([number, *reversed(ranks)])
    return table if rows is None else table.take(pa.array(rows))


def _ranks(table: pa.Table, name: str) -> Any:
    codes, names = codes_of(table[name])
    return (tag_order(names) if name == "tag" else order_of(names))[codes]


def tag_order(names: pa.Array) -> Any:
    """The rank of each tag. Tags are ordered by their raw bytes, which may differ from those of the shown name."""
    from tbq import _core

    texts = names.to_pylist()
    if not any("\\" in text for text in texts if text):
        return order_of(names)
    ranks = np.empty(len(texts) + 1, np.int32)
    ranks[-1] = -1
    for rank, i in enumerate(sorted(range(len(texts)), key=lambda i: _core.raw_name(texts[i] or ""))):
        ranks[i] = rank
    return ranks
