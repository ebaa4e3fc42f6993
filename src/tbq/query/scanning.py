"""From a question to rows: the runs, tags, steps and columns of a table to decode, at once or group by group."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.arguments import choice
from tbq.columns.relative import COLUMN as RELATIVE
from tbq.columns.relative import relative_times
from tbq.decode.options import EVERYTHING, ON_ERROR, RESTARTS, DecodeOptions, OnError, Restarts
from tbq.decode.problems import Warned, tell
from tbq.decode.reader import Reader
from tbq.errors import SourceError, UsageError
from tbq.kinds.overview import OVERVIEWS, overview
from tbq.schema import schema
from tbq.select import MAX_STEP, MIN_STEP, Selection
from tbq.source.files import GROUP_BYTES, groups

if TYPE_CHECKING:
    from tbq.kinds.values import Values
    from tbq.problems import Problem
    from tbq.progress import Progress
    from tbq.source import Run

#: Runs are decoded together up to this many bytes of their files: few at first, for callers that need only the first
#: rows, then more.
FIRST_BYTES = 64 * 1024

#: The source columns of each computed column.
_MADE_OF = {"ema": ("run", "tag", "step", "value"), RELATIVE: ("run", "wall_time")}


@dataclass(frozen=True)
class Scan:
    """What one scan of a table read, for tests and for measuring the cost of a query."""

    kind: str
    runs: int  # runs that may pass the filter
    steps: tuple[int, int]
    columns: tuple[str, ...]
    rows: int  # stored rows; the filter may drop some
    tags: dict[str, bool]  # each tested tag, and whether it may pass
    decoded: int  # decoded runs; fewer if a limit ended the scan


@dataclass
class Scanning:
    """How to read tables. Reports problems at once, or with `later` keeps them for `tell`: another library's scan is
    not the place to raise. With `limited`, a few rows may suffice, so runs are decoded as needed."""

    restarts: Restarts = "resume"
    threads: int | None = None
    progress: Progress | None = None
    on_error: OnError = "warn"
    later: bool = False
    limited: bool = False
    on_scan: Callable[[Scan], object] | None = None
    problems: dict[Problem, None] = field(default_factory=dict)
    failure: Exception | None = None
    warned: set[Warned] | None = None

    def __post_init__(self) -> None:
        choice("restarts", self.restarts, RESTARTS)
        choice("on_error", self.on_error, ON_ERROR)

    def note(self, problems: Sequence[Problem]) -> None:
        if self.later:
            self.problems.update(dict.fromkeys(problems))
        else:
            tell(problems, self.on_error, self.warned)

    def overview(self, reader: Reader, kind: str) -> pa.Table:
        """A table about the log, read with these options; its rows contain damage, which raises only on request."""
        options = {"restarts": self.restarts, "threads": self.threads, "on_error": self.on_error}
        usual = {"restarts": "resume", "threads": None, "on_error": "warn"}
        reading = {
            name: value for name, value in options.items() if value != usual[name] and name in OVERVIEWS[kind]
        }
        return overview(reader, kind, **reading)  # type: ignore[arg-type]

    def tell(self) -> None:
        tell(list(self.problems), self.on_error, self.warned)


@dataclass(frozen=True)
class Question:
    """Which rows and columns of a table may be needed; `extra` maps computed columns to how to compute them."""

    kind: str
    runs: Sequence[Run]
    tags: Selection = EVERYTHING
    steps: tuple[int, int] = (MIN_STEP, MAX_STEP)
    columns: tuple[str, ...] | None = None  # None for all
    extra: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    seen: dict[str, bool] = field(default_factory=dict)  # filled by `tags`, if that is a filter

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns that come from the files, in the order of the table."""
        names = schema(self.kind).names
        if self.columns is None:
            return tuple(names)
        needed = {*self.columns, *(name for how in self.computed.values() for name in _MADE_OF[how[0]])}
        return tuple(name for name in names if name in needed) or tuple(names[:1])

    @property
    def computed(self) -> dict[str, tuple[Any, ...]]:
        """The computed columns among the wanted columns."""
        return {name: how for name, how in self.extra.items() if self.columns is None or name in self.columns}

    @property
    def schema(self) -> pa.Schema:
        """The schema of the resulting rows."""
        every = schema(self.kind)
        return pa.schema(
            [
                *(every.field(name) for name in self.stored),
                *(pa.field(name, pa.float64()) for name in self.computed),
            ]
        )

    def scan(self, rows: int, decoded: int) -> Scan:
        return Scan(self.kind, len(self.runs), self.steps, self.stored, rows, self.seen, decoded)


def relative(kind: str, wanted: bool) -> dict[str, tuple[Any, ...]]:
    """The computed columns of a table, with `relative_time` if wanted."""
    if wanted and "wall_time" not in schema(kind).names:
        raise UsageError(f"relative_time: the table {kind} has no wall_time")
    return {RELATIVE: (RELATIVE,)} if wanted else {}


@dataclass(frozen=True)
class ScannedRows:
    """The result of a read: a table, or, for large values, batches that are read from the files on demand."""

    question: Question
    table: pa.Table | None
    values: Values | None = None
    scanning: Scanning = field(default_factory=Scanning)
    began: Mapping[str, float] = field(default_factory=dict)  # run → the wall time of its first event
    problems: Sequence[Problem] = ()  # not reported yet
    failure: SourceError | None = None  # set if no file could be read

    @property
    def count(self) -> int:
        """The number of stored rows or values."""
        return len(self.values) if self.values is not None else self.table.num_rows  # type: ignore[union-attr]

    def tables(self) -> Generator[pa.Table, None, None]:
        """The rows, a few megabytes of large values at a time."""
        if self.values is None:
            yield self.table
            return
        problems = self.values.reader.problems
        known = len(problems)
        for batch in self.values.batches(columns=self.question.stored):
            yield self.with_computed(pa.Table.from_batches([batch]))
        self.scanning.note(list(problems)[known:])

    def with_computed(self, table: pa.Table) -> pa.Table:
        """The table with its computed columns."""
        for name, how in self.question.computed.items():
            table = table.append_column(name, _computed(table, how, self.began))
        return table


def read(reader: Reader, question: Question, scanning: Scanning) -> ScannedRows:
    """Decode all runs of the question; raises if none of their files could be read."""
    rows = _read(reader, question, scanning)
    if rows.failure is not None:
        raise rows.failure
    scanning.note(rows.problems)
    return rows


def _read(reader: Reader, question: Question, scanning: Scanning) -> ScannedRows:
    from tbq import _core
    from tbq.kinds.values import Values

    kind, runs = question.kind, question.runs
    if kind != "scalars" and kind not in _core.tables():
        raise UsageError(f"{kind} is not a table of a log")
    if not runs:
        return ScannedRows(question, question.schema.empty_table())
    options = DecodeOptions(
        tag=question.tags,
        steps=question.steps,
        restarts=scanning.restarts,
        threads=scanning.threads,
        progress=scanning.progress,
        columns=question.stored if kind == "scalars" else None,
        defer=kind != "scalars",
    )
    stored = kind if kind == "scalars" else _core.kind_of_table(kind)
    result, problems = reader.read_quietly(runs, [stored], options, verify=scanning.on_error == "raise")
    failure = reader.failure(result, runs)
    rows = ScannedRows(question, None, None, scanning, reader.began, problems, failure)
    if kind != "scalars":
        return replace(rows, values=Values(reader, kind, result, runs, None, "ignore"))
    return replace(rows, table=rows.with_computed(reader.scalars(result, runs)))


def in_groups(reader: Reader, question: Question, scanning: Scanning) -> Generator[pa.Table, None, None]:
    """The rows of a few runs at a time; if the caller stops early, the rest is not decoded."""
    decoded = count = 0
    unread: list[ScannedRows] = []  # unreadable groups, as long as every group is unreadable
    readable = not question.runs
    try:
        for group in groups(question.runs, FIRST_BYTES, GROUP_BYTES, reader.size_of):
            decoded += len(group)
            rows = _read(reader, replace(question, runs=group), scanning)
            count += rows.count
            readable = readable or rows.failure is None
            unread.append(rows)
            if not readable:
                continue
            for earlier in unread:
                scanning.note(earlier.problems)
            unread.clear()
            with closing(rows.tables()) as tables:
                for table in tables:
                    if table.num_rows:
                        yield table
        if not readable and unread[0].failure is not None:
            raise unread[0].failure
    finally:
        if scanning.on_scan is not None:
            scanning.on_scan(question.scan(count, decoded))


def _computed(table: pa.Table, how: tuple[Any, ...], began: Mapping[str, float]) -> pa.ChunkedArray:
    from tbq.table.smooth import smoothed

    if how[0] == "ema":
        return smoothed(table, how[1])
    return relative_times(table.column("wall_time"), table.column("run"), began)
