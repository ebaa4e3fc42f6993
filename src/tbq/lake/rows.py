"""Adds to each row its event file, and a number that orders rows as they were logged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tbq.arrow import to_pyarrow
from tbq.columns.codes import codes_of, numbers, starts_of, values_of
from tbq.columns.rows import recast
from tbq.decode.reader import Reader, table_of
from tbq.kinds.values import NUMBER, Values
from tbq.lake.layout import ROW, SEVERAL, SOURCE, lake_schema
from tbq.schema import schema
from tbq.source.origin import origin
from tbq.text import shown_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq._core import Result
    from tbq.source import Run

#: The number of a row is the number of its session times this, plus its index among the run's rows in that session.
#: Rows of the same value have consecutive numbers.
SESSION = 1 << 40
_NO_LIMIT = np.iinfo(np.int64).max


class RowSource:
    """For each stored value of one kind: its session, and whether the restart policy keeps it."""

    def __init__(self, result: Result, series: pa.Table, kind: str) -> None:
        segments = table_of(result.segments())
        of_kind = np.array([each == kind for each in values_of(series["kind"])], bool)
        stored = of_kind & (numbers(series["rows"]) > 0)
        of_segment = numbers(segments["series"])
        chosen = stored[of_segment] if len(segments) else np.zeros(0, bool)
        self._counts = numbers(segments["count"])[chosen]
        self._limits = numbers(segments["limit"])[chosen]
        self.session = np.repeat(numbers(segments["session"])[chosen], self._counts)

    def kept(self, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """A mask of the values that the policy keeps."""
        limit = np.repeat(self._limits, self._counts)
        return np.asarray((limit == _NO_LIMIT) | (steps < limit))


def rows_of(
    kind: str,
    result: Result,
    reader: Reader,
    runs: Sequence[Run],
    series: pa.Table,
    sessions: pa.Table,
    split: set[int],
    first: Mapping[str, int] | None = None,
) -> Iterator[pa.Table]:
    """The rows of a table with their file and number. `first` has the number of a run's first row, if it is not 0."""
    from tbq import _core

    core_kind = kind if kind == "scalars" else _core.kind_of_table(kind)
    if not result.tags(core_kind):
        return
    source = RowSource(result, series, core_kind)
    ranks = places_in(numbers(sessions["run"]))
    names = [run.name for run in runs]
    paths = [shown_path(origin(os.fsdecode(report.path))) for report in result.files]
    files = numbers(sessions["file"])
    if kind == "scalars":
        table = table_of(result.scalars(names))
        assert len(table) == len(source.session)
        session = source.session
        if split:
            kept = source.kept(numbers(table["step"]))
            if not kept.all():
                table, session = table.filter(pa.array(kept)), session[kept]
        yield _numbered(kind, table, session, ranks, files, paths, first)
        return
    values = Values(reader, kind, result, runs, None, "ignore")
    keys = to_pyarrow(values.keys())
    assert len(keys) == len(source.session)
    kept = source.kept(numbers(keys["step"])) if split else np.ones(len(keys), bool)
    # Decode all values of a run together: a session's status may be stored in another session than its start.
    table = values.arrow(None if kept.all() else np.flatnonzero(kept).tolist(), numbered=True)
    of_value = numbers(table[NUMBER])
    table = table.drop_columns([NUMBER])
    gaps = _gaps(table, of_value) if kind in SEVERAL else None
    yield _numbered(kind, table, source.session[of_value], ranks, files, paths, first, gaps)


def _gaps(table: pa.Table, of_value: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """How many numbers are skipped before each row: one more between two values of the same tag, step and time, which
    only the gap tells apart."""
    fresh = np.flatnonzero(of_value[1:] != of_value[:-1]) + 1
    run, tag = codes_of(table["run"])[0], codes_of(table["tag"])[0]
    step, wall = numbers(table["step"]), numbers(table["wall_time"]).view(np.int64)
    alike = np.ones(len(fresh), bool)
    for key in (run, tag, step, wall):
        alike &= key[fresh] == key[fresh - 1]
    if not bool(alike.any()):
        return None
    gaps = np.zeros(len(table), np.int64)
    gaps[fresh[alike]] = 1
    return np.cumsum(gaps)


def _numbered(
    kind: str,
    table: pa.Table,
    session: NDArray[np.int64],
    ranks: NDArray[np.int64],
    files: NDArray[np.int64],
    paths: Sequence[str],
    first: Mapping[str, int] | None,
    gaps: NDArray[np.int64] | None = None,
) -> pa.Table:
    """The table with its columns `source` and `row`."""
    used, of_session = np.unique(files, return_inverse=True)
    codes = of_session.astype(np.int32)[session]
    names = pa.array([paths[file] for file in used.tolist()], pa.string())
    source = pa.DictionaryArray.from_arrays(pa.array(codes), names)
    run, run_names = codes_of(table["run"])
    place = places_in(run.astype(np.int64) * (len(ranks) + 1) + ranks[session])
    if gaps is not None:
        place = place + gaps
    if first:
        starts = np.array([first.get(name, 0) for name in run_names.to_pylist()], np.int64)
        place = place + starts[run]
        number = place
    else:
        number = ranks[session] * SESSION + place
    table = recast(table, schema(kind))
    table = table.append_column(lake_schema(kind).field(SOURCE), source)
    return table.append_column(ROW, pa.array(number))


def places_in(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index of each row within its group.

    >>> places_in(np.array([7, 7, 3, 7])).tolist()
    [0, 1, 0, 2]
    """
    count = len(groups)
    if not count:
        return np.zeros(0, np.int64)
    if bool((groups[1:] >= groups[:-1]).all()):
        order = None
        ordered = groups
    else:
        order = np.argsort(groups, kind="stable")
        ordered = groups[order]
    fresh = starts_of(ordered)
    lengths = np.diff(np.append(fresh, count))
    places = np.arange(count) - np.repeat(fresh, lengths)
    if order is None:
        return places
    out = np.empty(count, np.int64)
    out[order] = places
    return out
