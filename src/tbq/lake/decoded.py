"""Decodes runs to the rows of a lake: each row with its file and number, and each run with the state to resume from."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tbq.arrow import to_pyarrow
from tbq.columns.codes import codes_of, numbers, values_of
from tbq.columns.rows import recast
from tbq.decode import decode
from tbq.decode.options import DecodeOptions
from tbq.decode.problems import problems_of
from tbq.decode.reader import Reader, table_of
from tbq.kinds import overview
from tbq.kinds.run_states import facts_of, totals_of
from tbq.lake.facts import facts_table
from tbq.lake.layout import DROPPED, ROW, RUN_FACTS, lake_schema
from tbq.lake.rows import places_in, rows_of
from tbq.lake.state import may_continue, states_of
from tbq.problems import table_of_problems
from tbq.schema import SERIES, schema
from tbq.select import Selection
from tbq.source.discover import Found
from tbq.source.origin import origin
from tbq.text import shown_path

if TYPE_CHECKING:
    from tbq._core import Result
    from tbq.problems import Problem
    from tbq.progress import Progress
    from tbq.source import Run
    from tbq.source.inflate import Unpacked


@dataclass(frozen=True)
class LakeSelection:
    """The part of the log that a lake contains."""

    tag: Selection
    kinds: tuple[str, ...]  # tables of values
    threads: int | None = None

    @property
    def core_kinds(self) -> list[str]:
        """The core's names for the values of these tables."""
        from tbq import _core

        names = [kind if kind == "scalars" else _core.kind_of_table(kind) for kind in self.kinds]
        return list(dict.fromkeys(names))


@dataclass
class Decoded:
    """The rows of some runs by table, and for each run the state that a later read resumes from."""

    tables: dict[str, list[pa.Table]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    #: run → the indices of those of its files that could not be read
    unread: dict[str, list[int]] = field(default_factory=dict)
    #: run → why it was left out: the lake has rows of a file that could not be read now
    kept: dict[str, list[Problem]] = field(default_factory=dict)
    rows: int = 0

    def add(self, kind: str, table: pa.Table) -> None:
        """Add rows to a table."""
        if len(table):
            self.tables.setdefault(kind, []).append(table)
            if kind in SERIES:
                self.rows += len(table)

    def drop(self, runs: Collection[str]) -> None:
        """Remove the rows and states of runs."""
        tables, self.tables, self.rows = self.tables, {}, 0
        for kind, parts in tables.items():
            for part in parts:
                mask = [run not in runs for run in values_of(part["run"])]
                self.add(kind, part if all(mask) else part.filter(pa.array(mask, pa.bool_())))
        self.states = {run: state for run, state in self.states.items() if run not in runs}

    def table(self, kind: str) -> pa.Table:
        """All rows of a table."""
        parts = [lake_schema(kind).empty_table(), *self.tables.get(kind, [])]
        return pa.concat_tables(parts).unify_dictionaries()


def decode_runs(
    runs: Sequence[Run],
    selected: LakeSelection,
    unpacked: Unpacked,
    progress: Progress | None = None,
    had: Mapping[str, Collection[str]] | None = None,
) -> Decoded:
    """Decode runs from their start.

    `had` names the files, by run, that the lake has read to their end before. If such a file cannot be read now, its
    run is left out: the rows in the lake are better than the readable rest.
    """
    out = Decoded()
    if not runs:
        return out
    reader = Reader(Found([], list(runs)), unpacked)
    options = DecodeOptions(
        tag=selected.tag, restarts="keep", threads=selected.threads, progress=progress, defer=True
    )
    result = decode(runs, selected.core_kinds, options, unpacked, session_tables=True, verify=True)
    reader.collect(result, runs, "keep")
    names = [run.name for run in runs]
    reports = list(result.files)
    series, sessions = table_of(result.series(names)), table_of(result.sessions())
    split = _several(sessions, len(runs))
    next_rows: list[dict[str, int]] = [{} for _ in runs]
    for kind in selected.kinds:
        for table in rows_of(kind, result, reader, runs, series, sessions, split):
            out.add(kind, table)
            count_rows(kind, table, names, next_rows)
    problems = _overviews(out, runs, reader, result, series, split, selected)
    states = states_of(result, reports, series, sessions, next_rows)
    good = may_continue(out.table("problems"))
    out.states = {
        name: state if good.get(name, True) else "" for name, state in zip(names, states, strict=True)
    }
    _leave_out(out, runs, [each for each in problems if _failed(each, unpacked)], had or {})
    return out


def _failed(problem: Problem, unpacked: Unpacked) -> bool:
    """Whether reading failed, rather than the content being bad: it may succeed later without a change of the file."""
    if problem.code == "unpacking":
        return any(origin(os.fsdecode(path)) == problem.path for path in unpacked.interrupted)
    # Values are verified before they are decoded, so a value that cannot be decoded could not be read a second time.
    return problem.code in ("unreadable", "read_failed") or (
        problem.code == "bad_payload" and problem.tag is not None
    )


def _leave_out(
    out: Decoded, runs: Sequence[Run], failures: Sequence[Problem], had: Mapping[str, Collection[str]]
) -> None:
    """Note the files that could not be read, and leave out runs if the lake has rows of such a file."""
    by_run: dict[str, list[Problem]] = {}
    for problem in failures:
        if problem.run is not None and problem.path is not None:
            by_run.setdefault(problem.run, []).append(problem)
    for run in runs:
        problems = by_run.get(run.name, [])
        paths = {problem.path for problem in problems}
        if any(shown_path(path) in had.get(run.name, ()) for path in paths if path):
            out.kept[run.name] = problems
        elif paths:
            out.unread[run.name] = [i for i, path in enumerate(run.files) if path in paths]
    if out.kept:
        out.drop(out.kept)


def _several(sessions: pa.Table, runs: int) -> set[int]:
    """The runs that have more than one session."""
    counts = np.bincount(numbers(sessions["run"]), minlength=runs) if len(sessions) else np.zeros(runs, int)
    return set(np.flatnonzero(counts > 1).tolist())


def count_rows(kind: str, table: pa.Table, names: Sequence[str], next_rows: Sequence[dict[str, int]]) -> None:
    """Note the number of each run's next row, assuming that it belongs to the last session with rows."""
    codes, run_names = codes_of(table["run"])
    after = np.zeros(len(run_names), np.int64)
    # Leave a gap of one, as between two values that only a gap tells apart.
    np.maximum.at(after, codes, numbers(table[ROW]) + 2)
    places = {name: index for index, name in enumerate(names)}
    for name, number in zip(run_names.to_pylist(), after.tolist(), strict=True):
        known = next_rows[places[name]]
        known[kind] = max(known.get(kind, 0), number)


def _overviews(
    out: Decoded,
    runs: Sequence[Run],
    reader: Reader,
    result: Result,
    series: pa.Table,
    split: set[int],
    selected: LakeSelection,
) -> list[Problem]:
    """Add the rows of the tables about the log; returns the problems.

    Runs with restarts are counted a second time, under the policy that the tables follow.
    """
    problems = list(reader.problems)
    reports = list(result.files)
    parts = [_without(series, split)]
    several = [runs[index] for index in sorted(split)]
    if several:
        options = DecodeOptions(tag=selected.tag, restarts="resume", threads=selected.threads)
        counted = decode(several, [], options, reader.unpacked, count=True, verify=True)
        table = table_of(counted.series([run.name for run in several]))
        parts.append(table)
        problems += [each for each in problems_of(counted, several, "resume", True) if each not in problems]
    names = [run.name for run in runs]
    label = pa.dictionary(pa.int32(), pa.string())
    order = pa.array(names, pa.string())
    together = pa.concat_tables(
        [
            part.set_column(part.column_names.index("run"), "run", _relabelled(part["run"], order))
            for part in parts
        ]
    )
    assert together.schema.field("run").type == label
    if not selected.tag.everything:  # the core lists tags that are not selected, too
        together = together.filter(
            pa.array([selected.tag.matches(tag) for tag in values_of(together["tag"])], pa.bool_())
        )
    totals = totals_of(together, len(runs))
    stateless = to_pyarrow(overview.runs(runs, reports, totals)).drop_columns("state")
    out.add("runs", in_order(stateless, "runs"))
    out.add(RUN_FACTS, in_order(facts_table(facts_of(names, result, totals)), RUN_FACTS))
    out.add("files", in_order(to_pyarrow(overview.files(runs, reports)), "files"))
    counts = numbers(together["count"])
    tags = together.select(schema("tags").names).take(pa.array(np.flatnonzero(counts > 0)))
    out.add("tags", in_order(recast(tags, schema("tags")), "tags"))
    dropped = together.select(["run", "tag", "kind"]).take(pa.array(np.flatnonzero(counts == 0)))
    out.add(DROPPED, in_order(dropped, DROPPED))
    out.add("problems", in_order(to_pyarrow(table_of_problems(problems)), "problems"))
    return problems


def _relabelled(column: pa.ChunkedArray, names: pa.Array) -> pa.ChunkedArray:
    """A column of labels with the dictionary `names`."""
    codes, own = codes_of(column)
    places = {name: index for index, name in enumerate(names.to_pylist())}
    mapped = np.array([places[name] for name in own.to_pylist()], np.int32)
    array = pa.DictionaryArray.from_arrays(
        pa.array(mapped[codes] if len(codes) else codes.astype(np.int32)), names
    )
    return pa.chunked_array([array])


def _without(series: pa.Table, split: set[int]) -> pa.Table:
    """The series of the runs with one session."""
    if not split:
        return series
    codes = series["run"].combine_chunks().indices.to_numpy()
    return series.filter(pa.array(~np.isin(codes, list(split))))


def in_order(table: pa.Table, kind: str) -> pa.Table:
    """The table with the number of each row in its run."""
    codes, _ = codes_of(table["run"])
    table = table.append_column(ROW, pa.array(places_in(codes.astype(np.int64))))
    return table.cast(lake_schema(kind))
