"""A lake as a log: the reader that the stages before it ask, answered by the tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of, numbers, values_of
from tbq.decode.options import OnError, Options
from tbq.decode.problems import tell
from tbq.decode.reader import Reader
from tbq.errors import UsageError
from tbq.lake import scan
from tbq.lake.layout import OVERVIEWS, ROW
from tbq.lake.rows import SESSION
from tbq.lake.tables import LakeTable
from tbq.problems import Problem
from tbq.schema import schema
from tbq.source.discover import Found, Run

if TYPE_CHECKING:
    from tbq.errors import SourceError
    from tbq.lake.place import Place
    from tbq.progress import Progress
    from tbq.select import Selection


class LakeReader(Reader):
    """Reads the tables of a lake as they are when each is first asked for."""

    has_layers = True

    def __init__(self, place: Place) -> None:
        self.place = place
        self._there = set(place.folders())
        self._tables: dict[str, LakeTable] = {}
        about = scan.rows(self.table("runs"), ["run", "bytes", "first_wall_time"])
        names = values_of(about["run"])
        self._bytes = dict(zip(names, about["bytes"].to_pylist(), strict=True))
        super().__init__(Found([place.url], [Run(name, "", Files(self, name)) for name in names]))  # type: ignore[arg-type]
        self.began = {
            name: start
            for name, start in zip(names, about["first_wall_time"].to_pylist(), strict=True)
            if start is not None and math.isfinite(start)
        }
        problems = self.overview("problems")
        rows = zip(*(values_of(problems[name]) for name in schema("problems").names), strict=True)
        fields = schema("problems").names
        self.problems = {Problem(**dict(zip(fields, row, strict=True))): None for row in rows}
        self.has_read = True

    def table(self, kind: str) -> LakeTable:
        """One of the tables."""
        if kind not in self._tables:
            self._tables[kind] = LakeTable(self.place, kind, kind in self._there)
        return self._tables[kind]

    def overview(self, kind: str) -> pa.Table:
        """A table about the log."""
        return scan.rows(self.table(kind), schema(kind).names)

    def stored_overview(self, kind: str) -> pa.Table | None:
        if kind == "projector":  # it is made of files beside the event files, which are not in a lake
            return schema(kind).empty_table()
        return self.overview(kind) if kind in OVERVIEWS else None

    @cached_property
    def tags(self) -> pa.Table:
        """What was logged, one row per run and tag."""
        return self.overview("tags")

    @cached_property
    def files(self) -> dict[str, list[str]]:
        """The event files of each run."""
        table = self.overview("files")
        files: dict[str, list[str]] = {}
        for run, path in zip(values_of(table["run"]), table["path"].to_pylist(), strict=True):
            files.setdefault(run, []).append(path)
        return files

    def size_of(self, run: Run) -> int:
        return int(self._bytes[run.name])

    def given(self, reading: Mapping[str, Any]) -> Reader:
        _refuse_policy(reading.get("restarts", "resume"))
        return self

    def read(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: Options,
        on_error: OnError = "warn",
        details: bool = False,
    ) -> Any:
        result, problems = self.read_quietly(runs, kinds, options, details=details)
        tell(problems, on_error)
        return result

    def read_quietly(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: Options,
        verify: bool = False,
        count: bool = False,
        details: bool = False,
    ) -> tuple[Any, list[Problem]]:
        _refuse_policy(options.restarts)
        names = {run.name for run in runs}
        problems = [problem for problem in self.problems if problem.run is None or problem.run in names]
        return LakeResult(self, runs, options), problems

    def survey(
        self,
        restarts: Any = "resume",
        threads: int | None = None,
        progress: Progress | None = None,
        on_error: OnError = "ignore",
    ) -> Any:
        return self.read(self.runs, [], Options(restarts=restarts, threads=threads), on_error)

    def failure(self, result: Any, runs: Sequence[Run]) -> SourceError | None:
        return None

    def note(self, problems: Iterable[Problem], on_error: OnError) -> None:
        """Whatever was found when values were read is in the lake already."""

    def keys(self, result: Any, name: str, runs: Sequence[str]) -> pa.Table:
        return result.values(name).keys

    def values(
        self,
        result: Any,
        name: str,
        runs: Sequence[str],
        rows: Sequence[int] | None,
        columns: Sequence[str] | None,
    ) -> pa.RecordBatchReader:
        return result.values(name).read(rows, columns).to_reader()

    def value_problems(self, result: Any) -> tuple[list[Any], int]:
        return [], 0


class Files(Sequence[str]):
    """The event files of a run, looked up when somebody asks for them."""

    def __init__(self, reader: LakeReader, run: str) -> None:
        self._reader, self._run = reader, run

    def __getitem__(self, index: Any) -> Any:
        return self._reader.files.get(self._run, [])[index]

    def __len__(self) -> int:
        return len(self._reader.files.get(self._run, []))


class LakeResult:
    """What the core's `Result` answers, of some runs of a lake."""

    def __init__(self, reader: LakeReader, runs: Sequence[Run], options: Options) -> None:
        self.reader = reader
        self._every = len(runs) == len(reader.runs)
        self._names = [run.name for run in runs]
        self._options = options
        self._values: dict[str, LakeValues] = {}

    files: Sequence[Any] = ()
    file_count = 0

    def troubled(self) -> list[Any]:
        return []

    def notable(self) -> list[Any]:
        return []

    @cached_property
    def _tags(self) -> pa.Table:
        from tbq.columns.rows import having

        return self.reader.tags if self._every else having(self.reader.tags, "run", self._names)

    def tags(self, kind: str) -> list[str]:
        """The tags that have values of this kind, in order."""
        from tbq import _core

        tags, names = codes_of(self._tags["tag"])
        kinds, known = codes_of(self._tags["kind"])
        if kind not in known.to_pylist():
            return []
        used = np.unique(tags[kinds == known.to_pylist().index(kind)])
        return sorted(names.take(pa.array(used)).to_pylist(), key=_core.raw_name)

    def series(self, runs: Sequence[str]) -> pa.Table:
        """What was logged of each (run, tag, kind)."""
        return self._tags

    def read(self, kind: str, columns: Sequence[str], **more: Any) -> pa.Table:
        """Columns of a table, of the runs, tags and steps that were asked for."""
        from tbq import _core

        selection: Selection = self._options.tag
        tags = None
        if not selection.everything:
            of_kind = kind if kind == "scalars" else _core.kind_of_table(kind)
            tags = {tag for tag in self.tags(of_kind) if selection.matches(tag)}
        asked = {
            "runs": None if self._every else set(self._names),
            "tags": tags,
            "steps": self._options.steps,
        }
        return scan.rows(self.reader.table(kind), columns, **{**asked, **more})

    def scalars(self, runs: Sequence[str]) -> pa.Table:
        """The scalars, or those columns of them that were asked for."""
        wanted = self._options.columns
        names = [name for name in schema("scalars").names if wanted is None or name in wanted]
        return self.read("scalars", names)

    @property
    def scalar_rows(self) -> int:
        return len(self.read("scalars", ["run"]))

    def sessions(self) -> pa.Table:
        """A lake keeps the sessions of rows, not those without."""
        return pa.table({"run": pa.array([], pa.int64())})

    def segments(self) -> pa.Table:
        """Where each session of each series of scalars begins: `series, session, first_step, first_wall_time`."""
        table = self.read("scalars", ["run", "tag", "step", "wall_time", ROW])
        run, run_names = codes_of(table["run"])
        tag, tag_names = codes_of(table["tag"])
        session = numbers(table[ROW]) // SESSION
        fresh = np.ones(len(table), bool)
        fresh[1:] = (run[1:] != run[:-1]) | (tag[1:] != tag[:-1]) | (session[1:] != session[:-1])
        rows = np.flatnonzero(fresh)
        columns = (values_of(self._tags[name]) for name in ("run", "tag", "kind"))
        places = {key: place for place, key in enumerate(zip(*columns, strict=True))}
        names = (run_names.to_pylist(), tag_names.to_pylist())
        series = [places[names[0][run[row]], names[1][tag[row]], "scalars"] for row in rows.tolist()]
        return pa.table(
            {
                "series": pa.array(series, pa.int64()),
                "session": pa.array(session[rows], pa.int64()),
                "first_step": table["step"].take(pa.array(rows)),
                "first_wall_time": table["wall_time"].take(pa.array(rows)),
            }
        )

    def values(self, kind: str) -> LakeValues:
        """The values of a table."""
        if kind not in self._values:
            self._values[kind] = LakeValues(self, kind)
        return self._values[kind]


class LakeValues:
    """The values of one table: several rows of it may be one value."""

    def __init__(self, result: LakeResult, kind: str) -> None:
        self._result, self._kind = result, kind
        names = ["run", "tag", "step", "wall_time", ROW]
        names += [name for name in ("index",) if _is_number(kind, name)]
        self._rows = result.read(kind, names)
        starts = _value_starts(self._rows)
        self._starts = np.flatnonzero(starts)
        self._number = np.cumsum(starts) - 1
        keys = self._rows.select(["run", "tag", "step", "wall_time"]).take(pa.array(self._starts))
        self.keys = keys.append_column("bytes", pa.array(np.zeros(len(keys), np.int64)))

    def read(self, values: Sequence[int] | None, columns: Sequence[str] | None) -> pa.Table:
        """The rows of these values, or of all."""
        every = schema(self._kind).names
        names = every if columns is None else [name for name in every if name in columns]
        if values is None:
            return self._result.read(self._kind, names)
        chosen = self.keys.take(pa.array(list(values), pa.int64()))
        if not len(chosen):
            return self._result.read(self._kind, names).slice(0, 0)
        steps = numbers(chosen["step"])
        table = self._result.read(
            self._kind,
            [*names, *(name for name in ("run", ROW) if name not in names)],
            runs=set(values_of(chosen["run"])),
            tags=set(values_of(chosen["tag"])),
            steps=(int(steps.min()), int(steps.max())),
        )
        places = {key: place for place, key in enumerate(_row_keys(table))}
        own = list(_row_keys(self._rows))
        ends = [*self._starts[1:].tolist(), len(own)]
        rows = [
            places[own[row]] for value in values for row in range(int(self._starts[value]), int(ends[value]))
        ]
        return table.take(pa.array(rows, pa.int64())).select(names)


def _row_keys(table: pa.Table) -> Iterable[tuple[str, int]]:
    return zip(values_of(table["run"]), table[ROW].to_pylist(), strict=True)


def _value_starts(table: pa.Table) -> Any:
    """Which rows are the first of their value."""
    fresh = np.ones(len(table), bool)
    if len(table) < 2:
        return fresh
    run, tag = codes_of(table["run"])[0], codes_of(table["tag"])[0]
    step, wall = numbers(table["step"]), numbers(table["wall_time"]).view(np.int64)
    fresh[1:] = (
        (run[1:] != run[:-1]) | (tag[1:] != tag[:-1]) | (step[1:] != step[:-1]) | (wall[1:] != wall[:-1])
    )
    if "index" in table.column_names:
        fresh |= np.asarray(table["index"].fill_null(0)) == 0
    return fresh


def _is_number(kind: str, column: str) -> bool:
    names = schema(kind).names
    return column in names and bool(pa.types.is_integer(schema(kind).field(column).type))


def _refuse_policy(restarts: str) -> None:
    if restarts != "resume":
        raise UsageError(
            f"restarts={restarts!r}: a lake has the rows that restarts='resume' keeps, and no others",
            hint="tbq.open(LOGDIR) reads the event files themselves",
        )
