"""The rows of many files as one frame, long or pivoted, in tbparse's order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbq.compat.tbparse.leaf import Column, TagRows

DIR_NAME, FILE_NAME, WALL_TIME = "dir_name", "file_name", "wall_time"


class FileRows(NamedTuple):
    """The rows of one file."""

    dir_name: str
    file_name: str
    rows: dict[str, TagRows]


class SortKey(NamedTuple):
    """The sort key of rows before their steps; empty for a column that is not selected."""

    dir_name: str
    file_name: str


Frame = dict[str, Any]  # columns by name: arrays, lists, or `Repeated`


class Repeated(NamedTuple):
    """A column of strings that repeat."""

    values: list[str]
    counts: list[int]


def long_frame(parts: Sequence[FileRows], extra: set[str]) -> Frame:
    """One row per value, sorted by folder, file (if selected), tag and step."""
    series: dict[tuple[SortKey, str], list[TagRows]] = {}
    for part in parts:
        floats = _has_floats_only(part)
        for tag, rows in part.rows.items():
            if len(rows):
                known = _without_integers(rows) if floats else rows
                series.setdefault((_key(part, extra), tag), []).append(known)
    if not series:
        return {}
    blocks = [(key, tag, _by_step(_joined(series[key, tag]))) for key, tag in sorted(series)]
    counts = [len(rows) for _, _, rows in blocks]
    frame: Frame = {}
    if blocks[0][2].steps is not None:
        frame["step"] = np.concatenate([rows.steps for _, _, rows in blocks if rows.steps is not None])
    frame["tag"] = Repeated([tag for _, tag, _ in blocks], counts)
    for name in blocks[0][2].columns:
        frame[name] = _concatenated([rows.columns[name] for _, _, rows in blocks])
    if WALL_TIME in extra and blocks[0][2].wall_times is not None:
        frame[WALL_TIME] = np.concatenate(
            [rows.wall_times for _, _, rows in blocks if rows.wall_times is not None]
        )
    _add_names(frame, [key for key, _, _ in blocks], counts, extra)
    return frame


def wide_frame(parts: Sequence[FileRows], extra: set[str], first: str) -> Frame:
    """One row per folder, file (if selected) and step, one column per tag; several values become a list.

    The column `first` of each tag is named after the tag, the others `tag/name`.
    """
    groups: dict[SortKey, list[FileRows]] = {}
    for part in parts:
        if any(map(len, part.rows.values())):
            groups.setdefault(_key(part, extra), []).append(part)
    if not groups:
        return {}
    keys = sorted(groups)
    blocks = [_wide_block(groups[key], extra, first) for key in keys]
    counts = [block.length for block in blocks]
    frame: Frame = {}
    if blocks[0].steps is not None:
        frame["step"] = np.concatenate([block.steps for block in blocks if block.steps is not None])
    # tbparse itself confuses a tag with its own column of the same name, or fails.
    own = {*frame, *(extra & {DIR_NAME, FILE_NAME})}
    if blocks[0].wall_times is not None:
        own.add(WALL_TIME)
    for name in sorted({name for block in blocks for name in block.columns}):
        cells = [block.columns.get(name, np.full(block.length, np.nan)) for block in blocks]
        frame[f"tag.{name}" if name in own else name] = _concatenated(cells)
    if WALL_TIME in extra and blocks[0].wall_times is not None:
        frame[WALL_TIME] = _concatenated(
            [block.wall_times for block in blocks if block.wall_times is not None]
        )
    _add_names(frame, keys, counts, extra)
    return frame


class _Block(NamedTuple):
    """The rows of one folder or file in a pivoted frame."""

    length: int
    steps: NDArray[np.int64] | None
    wall_times: Column | None
    columns: dict[str, Column]


def _wide_block(parts: Sequence[FileRows], extra: set[str], first: str) -> _Block:
    tags: dict[str, list[TagRows]] = {}
    for part in parts:
        alone = sum(1 for rows in part.rows.values() if len(rows)) == 1
        for tag, rows in part.rows.items():
            if len(rows):
                tags.setdefault(tag, []).append(rows if alone else _without_integers(rows))
    joined = {tag: _joined(rows) for tag, rows in tags.items()}
    everything = [rows for part in parts for rows in part.rows.values() if len(rows)]
    if everything[0].steps is None:
        columns: dict[str, Column] = {tag: [_merged(rows.columns["value"])] for tag, rows in joined.items()}
        return _Block(1, None, None, columns)
    steps = _distinct([rows.steps for rows in everything if rows.steps is not None])
    columns = {}
    for tag, rows in joined.items():
        assert rows.steps is not None
        places = _places(steps, rows.steps)
        for name, column in rows.columns.items():
            columns[tag if name == first else f"{tag}/{name}"] = _spread(column, places, len(steps))
    wall_times: Column | None = None
    if WALL_TIME in extra:
        places = _places(steps, np.concatenate([rows.steps for rows in everything if rows.steps is not None]))
        every = np.concatenate([rows.wall_times for rows in everything if rows.wall_times is not None])
        wall_times = _spread(every, places, len(steps))
    return _Block(len(steps), steps, wall_times, columns)


def _distinct(steps: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """All steps, sorted and each once; usually every tag has the same steps, in order."""
    first = steps[0]
    if (np.diff(first) > 0).all() and all(np.array_equal(first, other) for other in steps[1:]):
        return first
    return np.unique(np.concatenate(steps))


def _places(steps: NDArray[np.int64], of: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(steps) == len(of) and np.array_equal(steps, of):
        return np.arange(len(of))
    return np.searchsorted(steps, of)


def _spread(column: Column, places: NDArray[np.int64], count: int) -> Column:
    """The values at their places: a single value as is, several as a list, NaN for none."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        known = ~np.isnan(column)
        if not known.all():
            column, places = column[known], places[known]
        if len(places) == 0 or (counts := np.bincount(places, minlength=count)).max() <= 1:
            spread = np.full(count, np.nan)
            spread[places] = column
            return spread
        order = np.argsort(places, kind="stable")
        pieces = column[order].tolist()
        cells = np.full(count, np.nan, object)
        start = 0
        for place, size in enumerate(counts.tolist()):
            if size:
                cells[place] = pieces[start] if size == 1 else pieces[start : start + size]
                start += size
        return cells
    by_place: list[list[Any]] = [[] for _ in range(count)]
    for place, value in zip(places.tolist(), column, strict=True):
        by_place[place].append(value)
    return [_merged(values) for values in by_place]


def _merged(values: Iterable[Any]) -> Any:
    """Several values as a list, without absent values."""
    known = [value for value in values if not (isinstance(value, float) and np.isnan(value))]
    if len(known) > 1:
        return known
    return known[0] if known else np.nan


def _without_integers(rows: TagRows) -> TagRows:
    """Integers as floats if values are absent, unless a column holds more than numbers."""
    columns = {
        name: list(map(float, column))
        if isinstance(column, list) and all(type(value) in (int, float) for value in column)
        else column
        for name, column in rows.columns.items()
    }
    return TagRows(rows.steps, rows.wall_times, columns)


def _has_floats_only(part: FileRows) -> bool:
    """Whether the values of a file are numbers, some of them floats: then all become floats."""
    types: set[type] = set()
    for rows in part.rows.values():
        values = rows.columns.get("value", ())
        types |= {float} if isinstance(values, np.ndarray) else set(map(type, values))
    return types == {int, float}


def _joined(rows: Sequence[TagRows]) -> TagRows:
    if len(rows) == 1:
        return rows[0]
    columns = {name: _concatenated([each.columns[name] for each in rows]) for name in rows[0].columns}
    steps = [each.steps for each in rows if each.steps is not None]
    wall_times = [each.wall_times for each in rows if each.wall_times is not None]
    if not steps:
        return TagRows(None, None, columns)
    return TagRows(np.concatenate(steps), np.concatenate(wall_times), columns)


def _by_step(rows: TagRows) -> TagRows:
    if rows.steps is None or rows.wall_times is None or (np.diff(rows.steps) >= 0).all():
        return rows
    order = np.argsort(rows.steps, kind="stable")
    columns = {
        name: column[order] if isinstance(column, np.ndarray) else [column[place] for place in order.tolist()]
        for name, column in rows.columns.items()
    }
    return TagRows(rows.steps[order], rows.wall_times[order], columns)


def _concatenated(columns: Sequence[Column]) -> Column:
    if all(isinstance(column, np.ndarray) and column.dtype.kind == "f" for column in columns):
        return np.concatenate(columns)
    return [
        value
        for column in columns
        for value in (column.tolist() if isinstance(column, np.ndarray) else column)
    ]


def _key(part: FileRows, extra: set[str]) -> SortKey:
    return SortKey(part.dir_name if DIR_NAME in extra else "", part.file_name if FILE_NAME in extra else "")


def _add_names(frame: Frame, keys: Sequence[SortKey], counts: list[int], extra: set[str]) -> None:
    if DIR_NAME in extra:
        frame[DIR_NAME] = Repeated([key.dir_name for key in keys], counts)
    if FILE_NAME in extra:
        frame[FILE_NAME] = Repeated([key.file_name for key in keys], counts)
