"""`log.dataset(kind)`: a table of a logdir as a `pyarrow.dataset.Dataset`, which reads no more than is asked for.

Columns and filters of a scan reach the native reader: it opens only runs, and stores only tags and steps, that the
filter may let through. The filter is then applied exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from tbq import decode as _decode
from tbq.errors import UsageError
from tbq.query.prune import Filter, Matching
from tbq.schema import schema
from tbq.select import MAX_STEP, MIN_STEP, Selection

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from tbq.kinds.values import Values
    from tbq.logdir import LogDir
    from tbq.problems import Problem
    from tbq.source import Run

#: The tables about the logdir itself: small, and not selected from while reading.
OVERVIEWS = ("runs", "tags", "files", "problems", "projector")


@dataclass(frozen=True)
class Scan:
    """What one scan of a table read: for tests, and for those who want to know what a query costs."""

    kind: str
    runs: int
    steps: tuple[int, int]
    rows: int  # stored, of which the filter may drop some
    tags: dict[str, bool]  # each tag that the filter was asked about, and whether it may pass


@dataclass
class Reading:
    """How tables are read. Problems are told at once, or with `later` kept for `tell`: inside of another library's
    scan is no place to raise."""

    restarts: str = "resume"
    threads: int | None = None
    on_error: str = "warn"
    later: bool = False
    on_scan: Callable[[Scan], object] | None = None
    problems: dict[Problem, None] = field(default_factory=dict)
    failure: Exception | None = None

    def __post_init__(self) -> None:
        _decode.check("restarts", self.restarts, _decode.RESTARTS)
        _decode.check("on_error", self.on_error, _decode.ON_ERROR)

    def found(self, problems: Sequence[Problem]) -> None:
        if self.later:
            self.problems.update(dict.fromkeys(problems))
        else:
            _decode.tell(problems, self.on_error)

    def tell(self) -> None:
        _decode.tell(list(self.problems), self.on_error)


class LogDataset(ds.InMemoryDataset):  # type: ignore[misc]
    """One table of a logdir; `extra` adds computed columns: name → ("ema", weight) or ("relative_time",)."""

    def __init__(
        self,
        log: LogDir,
        kind: str = "scalars",
        reading: Reading | None = None,
        extra: Mapping[str, tuple[Any, ...]] | None = None,
        only: pc.Expression | None = None,
    ) -> None:
        self._extra = dict(extra or {})
        added = [pa.field(name, pa.float64()) for name in self._extra]
        super().__init__(pa.schema([*schema(kind), *added]).empty_table())
        self._log, self._kind, self._only = log, kind, only
        self._reading = reading or Reading()
        self._answers: dict[str, Rows] = {}

    def scanner(
        self,
        columns: Any = None,
        filter: pc.Expression | None = None,  # noqa: A002 - as Arrow calls it
        **options: Any,
    ) -> ds.Scanner:
        """A scanner of the rows that pass the filter, as `pyarrow.dataset.Dataset.scanner`."""
        where = filter if self._only is None else self._only if filter is None else self._only & filter
        try:
            rows = self._rows(where)
        except Exception as failure:
            self._reading.failure = failure  # whoever called may wrap it beyond recognition
            raise
        if rows.table is not None and where is None and self._reading.later and not options:
            return _Whole(rows.table if columns is None else rows.table.select(columns))
        if rows.table is not None:
            return ds.InMemoryDataset(rows.table).scanner(columns=columns, filter=where, **options)
        batches = (batch for table in rows.tables() for batch in table.to_batches())
        return ds.Scanner.from_batches(batches, schema=self.schema, columns=columns, filter=where, **options)

    def filter(self, expression: pc.Expression) -> LogDataset:
        """The dataset with a filter that every scan applies."""
        both = expression if self._only is None else self._only & expression
        return LogDataset(self._log, self._kind, self._reading, self._extra, both)

    # What Arrow would answer from its own side of the dataset, where there are no rows.

    def get_fragments(self, filter: pc.Expression | None = None) -> Any:  # noqa: A002 - as Arrow calls it
        return self._whole().get_fragments(filter)

    def sort_by(self, sorting: Any, **options: Any) -> Any:
        return self._whole().sort_by(sorting, **options)

    def join(self, *arguments: Any, **options: Any) -> Any:
        return self._whole().join(*arguments, **options)

    def join_asof(self, *arguments: Any, **options: Any) -> Any:
        return self._whole().join_asof(*arguments, **options)

    def replace_schema(self, schema: pa.Schema) -> Any:
        return self._whole().replace_schema(schema)

    def __reduce__(self) -> Any:
        raise TypeError("a dataset of a logdir cannot be pickled: open the logdir where it is needed")

    def _whole(self) -> ds.InMemoryDataset:
        return ds.InMemoryDataset(self.to_table())

    def _rows(self, where: pc.Expression | None) -> Rows:
        """The rows that may pass. Within a query, the same question is answered once: tables join themselves."""
        if not self._reading.later:
            return self._decode(where)
        question = str(where)
        if question not in self._answers:
            self._answers[question] = self._decode(where)
        return self._answers[question]

    def _decode(self, where: pc.Expression | None) -> Rows:
        if self._kind in OVERVIEWS:
            return Rows(self._log.table(self._kind).to_arrow())
        runs, tags, steps = self._log._found.runs, Selection(None), (MIN_STEP, MAX_STEP)
        seen: dict[str, bool] = {}
        if where is not None:
            asked = Filter(where, self.schema)
            names = set(asked.names("run", self._log.runs))
            runs = [run for run in runs if run.name in names]
            tags = _noting(asked.tags(), seen)
            if not any(how[0] == "ema" for how in self._extra.values()):  # which needs the whole curve
                steps = asked.steps()
            if steps[0] > steps[1]:
                runs = []
        rows = read(self._log, self._kind, runs, tags, steps, self._reading)
        if self._reading.on_scan is not None:
            self._reading.on_scan(Scan(self._kind, len(runs), steps, rows.count, seen))
        return rows.computing(self._extra)


class _Whole:
    """A scanner for DuckDB of all rows: the table as it is, without Arrow's machinery in between."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_reader(self) -> pa.RecordBatchReader:
        return self._table.to_reader()

    def __getattr__(self, name: str) -> Any:
        return getattr(ds.InMemoryDataset(self._table).scanner(), name)


def _noting(tags: Selection, seen: dict[str, bool]) -> Selection:
    if tags.everything:
        return tags

    def test(tag: str) -> bool:
        seen[tag] = tags.matches(tag)
        return seen[tag]

    return Matching((), "tag", test)


@dataclass(frozen=True)
class Rows:
    """Rows that were found: a table, or where values are large, batches that are read from the files as they go."""

    table: pa.Table | None
    values: Values | None = None
    reading: Reading = field(default_factory=Reading)
    began: Mapping[str, float] = field(default_factory=dict)  # run → the wall time of its first event
    extra: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many rows or values are stored."""
        return len(self.values) if self.values is not None else self.table.num_rows  # type: ignore[union-attr]

    def computing(self, extra: Mapping[str, tuple[Any, ...]]) -> Rows:
        """The rows with columns that are computed."""
        if self.table is not None:
            return replace(self, table=self._with(self.table, extra))
        return replace(self, extra=extra)

    def tables(self) -> Iterator[pa.Table]:
        """The rows, a few megabytes of large values at a time."""
        if self.values is None:
            yield self.table
            return
        known = len(self.values._log._problems)
        for batch in self.values.batches():
            yield self._with(pa.Table.from_batches([batch]), self.extra)
        self.reading.found(list(self.values._log._problems)[known:])

    def _with(self, table: pa.Table, extra: Mapping[str, tuple[Any, ...]]) -> pa.Table:
        for name, how in extra.items():
            table = table.append_column(name, _computed(table, how, self.began))
        return table


def read(
    log: LogDir, kind: str, runs: Sequence[Run], tags: Selection, steps: tuple[int, int], reading: Reading
) -> Rows:
    """Decode one kind of these runs."""
    from tbq import _core
    from tbq.kinds.values import Values

    if kind != "scalars" and kind not in _core.tables():
        raise UsageError(f"{kind} is no table of a log")
    if not runs:
        return Rows(schema(kind).empty_table())
    options = _decode.Options(
        tag=tags, steps=steps, restarts=reading.restarts, threads=reading.threads, defer=kind != "scalars"
    )
    stored = kind if kind == "scalars" else _core.kind_of_table(kind)
    result, problems = log._decode_quietly(runs, [stored], options)
    _decode.refuse_unreadable(result, runs)
    reading.found(problems)
    began: dict[str, float] = {}
    for report in result.files:
        if report.timed:
            name = runs[report.run].name
            began[name] = min(began.get(name, report.first_wall_time), report.first_wall_time)
    if kind != "scalars":
        return Rows(None, Values(log, kind, result, runs, None, "ignore"), reading, began)
    return Rows(pa.table(result.scalars([run.name for run in runs])), None, reading, began)


def _computed(table: pa.Table, how: tuple[Any, ...], began: Mapping[str, float]) -> pa.ChunkedArray:
    import numpy as np

    from tbq.query.smooth import smoothed
    from tbq.table.codes import codes_of

    if how[0] == "ema":
        return smoothed(table, how[1])
    codes, names = codes_of(table.column("run"))
    starts = np.array([began.get(name, 0.0) for name in names.to_pylist()] or [0.0])
    return pa.chunked_array([table.column("wall_time").to_numpy() - starts[codes]])


def dataset(log: LogDir, kind: str = "scalars", **options: Any) -> LogDataset:
    """One table of the logdir as a `pyarrow.dataset.Dataset`; options as of `log.scalars`."""
    return LogDataset(log, kind, Reading(**options))
