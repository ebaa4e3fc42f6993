"""The wide layout: one row per run and step, one column per tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import begins, starts_of
from tbq.columns.grouped import GroupedRows
from tbq.columns.names import column_names
from tbq.errors import UsageError, warn
from tbq.select import closest_tip
from tbq.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Beyond this many cells (16 GB) the table is more likely a mistake than a wish.
_MAX_CELLS = 1 << 31


def wide(
    table: pa.Table, tags: Sequence[str] | None = None, wall_time: bool = False, asof: str | None = None
) -> pa.Table:
    """Pivot a scalar table: columns `run`, `step`, then the tags in the order of `tags`, or by name.

    With `wall_time`, the latest wall time of each row follows `step`. With `asof`, only the steps of this tag, and
    every other tag with its last value up to there.

    A tag without a value at a step is null there; a tag without any value is all null. Of two values at one
    (run, step, tag) the last wins; a TbqWarning reports how many were hidden.
    """
    if wall_time and "wall_time" not in table.column_names:
        raise UsageError("wall_time: the table has no column wall_time")
    rows = GroupedRows.of(table, wall_time)
    order = (
        list(tags)
        if tags is not None
        else sorted(rows.tag_names[i] for i in np.unique(rows.tag[rows.starts]))
    )
    if asof is not None and asof not in order:
        tip = closest_tip(str(asof), order)
        raise UsageError(
            f"asof: no column for the tag {asof!r}{tip}", hint="select the tag too (tag=, --tag)"
        )
    position, run_of_row, step_of_row = _place(rows)
    count = len(run_of_row)
    if count * len(order) > _MAX_CELLS:
        raise UsageError(
            f"a wide table of {count:,} rows and {len(order):,} tags is too large",
            hint="choose fewer tags or runs (--tag, --run; tag=, run=), or use the long layout",
        )
    columns: dict[str, pa.Array] = {
        "run": pa.DictionaryArray.from_arrays(
            pa.array(run_of_row.astype(np.int32)), pa.array(rows.run_names, pa.string())
        ),
        "step": pa.array(step_of_row),
    }
    if rows.wall_time is not None:
        latest = np.full(count, -np.inf)
        np.fmax.at(latest, position, rows.wall_time)
        columns["wall_time"] = pa.array(latest, mask=np.isneginf(latest))
    blocks = _blocks_by_tag(rows)
    hidden: dict[str, int] = {}
    names = dict(zip(order, column_names(order, reserved=tuple(columns)), strict=True))
    for tag, name in names.items():
        columns[name], lost = _column(rows, position, blocks.get(tag, []), count)
        if lost:
            hidden[tag] = lost
    if hidden:
        warn(_say_hidden(hidden))
    if asof is None:
        return pa.table(columns)
    from tbq.table.asof import as_of

    return as_of(pa.table(columns), names[asof], [name for tag, name in names.items() if tag != asof])


def _place(rows: GroupedRows) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """The row of the wide table for each value, and the run and step of each such row."""
    if not len(rows.run):
        return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    firsts = starts_of(rows.run)
    lengths = np.diff(np.append(firsts, len(rows.run)))
    lowest = np.minimum.reduceat(rows.step, firsts)
    highest = np.maximum.reduceat(rows.step, firsts)
    # The difference is right even if the cast wraps.
    spans = highest.astype(np.uint64) - lowest.astype(np.uint64)
    if float(spans.max()) < 2**62 and len(rows.run):
        offsets = rows.step - np.repeat(lowest, lengths)
        stride = 1
        if _slots(spans, 1) > _room(rows):
            stride = _stride(offsets)
            offsets //= stride
        if _slots(spans, stride) <= _room(rows):
            return _place_by_slot(rows, firsts, lengths, lowest, spans // np.uint64(stride), offsets, stride)
    return _place_by_sorting(rows)


def _stride(offsets: NDArray[np.int64]) -> int:
    """The largest number that divides all offsets; first guessed from a few offsets, which is usually right."""
    guess = int(np.gcd.reduce(offsets[:1000]))
    if guess > 1 and not bool((offsets % guess).any()):
        return guess
    return max(int(np.gcd.reduce(offsets)), 1)


def _slots(spans: NDArray[np.uint64], stride: int) -> float:
    return float((spans // np.uint64(stride)).astype(np.float64).sum()) + len(spans)


def _room(rows: GroupedRows) -> float:
    return 8.0 * len(rows.run) + (1 << 16)


def _place_by_slot(
    rows: GroupedRows,
    firsts: NDArray[Any],
    lengths: NDArray[Any],
    lowest: NDArray[np.int64],
    spans: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    stride: int,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Give each step between a run's first and last a slot; the used slots are the rows."""
    bases = np.concatenate([[0], np.cumsum(spans.astype(np.int64) + 1)])
    slots = offsets + np.repeat(bases[:-1], lengths)
    used = np.zeros(int(bases[-1]), bool)
    used[slots] = True
    used_slots = np.flatnonzero(used)
    row_of_slot = np.cumsum(used, dtype=np.int32 if len(used) < 2**31 else np.int64) - 1
    # `used_slots` and the bases are sorted: each run's rows are one block.
    counts = np.diff(np.searchsorted(used_slots, bases))
    runs = np.repeat(rows.run[firsts], counts)
    steps = (used_slots - np.repeat(bases[:-1], counts)) * stride + np.repeat(lowest, counts)
    return row_of_slot[slots], runs, steps


def _place_by_sorting(rows: GroupedRows) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """For steps too sparse for slots: sort the rows of each run by step."""
    block = np.cumsum(begins(rows.run))
    order = np.lexsort((rows.step, block))
    block, step = block[order], rows.step[order]
    fresh = begins(block, step)
    position = np.empty(len(order), np.int64)
    position[order] = np.cumsum(fresh) - 1
    return position, rows.run[order][fresh], step[fresh]


def _blocks_by_tag(rows: GroupedRows) -> dict[str, list[tuple[int, int]]]:
    blocks: dict[str, list[tuple[int, int]]] = {}
    tags = rows.tag[rows.starts].tolist()
    for tag, begin, end in zip(tags, rows.starts.tolist(), rows.ends.tolist(), strict=True):
        blocks.setdefault(rows.tag_names[tag], []).append((begin, end))
    return blocks


def _column(
    rows: GroupedRows, position: NDArray[Any], blocks: list[tuple[int, int]], count: int
) -> tuple[pa.Array, int]:
    """One tag's column, and how many of its values a later value hides."""
    if not blocks:
        return pa.nulls(count, pa.float64()), 0
    if len(blocks) == 1:
        begin, end = blocks[0]
        places, values = position[begin:end], rows.value[begin:end]
    else:
        places = np.concatenate([position[begin:end] for begin, end in blocks])
        values = np.concatenate([rows.value[begin:end] for begin, end in blocks])
    if len(places) == count and bool((places[1:] > places[:-1]).all()):
        return pa.array(values), 0  # one value per step, in order: the column itself
    column = np.zeros(count)
    present = np.zeros(count, bool)
    column[places] = values  # NumPy keeps the last of several values for one place
    present[places] = True
    filled = int(np.count_nonzero(present))
    bits = None if filled == count else pa.py_buffer(np.packbits(present, bitorder="little"))
    array = pa.Array.from_buffers(pa.float64(), count, [bits, pa.py_buffer(column)], count - filled)
    return array, len(places) - filled


def _say_hidden(hidden: dict[str, int]) -> str:
    total = sum(hidden.values())
    worst = sorted(hidden, key=lambda tag: -hidden[tag])
    shown = ", ".join(f"{tag} ({hidden[tag]:,})" for tag in worst[:3])
    more = f" and {len(worst) - 3:,} more tags" if len(worst) > 3 else ""
    return (
        f"wide: {counted(total, 'value')} hidden by later values at the same run, step and tag: "
        f"{shown}{more}; the long layout has them all"
    )
