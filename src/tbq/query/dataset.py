"""`log.dataset(kind)`: a table of a logdir as a `pyarrow.dataset.Dataset`, which reads no more than is asked for.

Columns and filters of a scan reach the native reader: it opens only runs, and stores only tags and steps, that the
filter may let through. The filter is then applied exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from tbq import decode as _decode
from tbq.query.prune import Filter, Matching
from tbq.schema import schema
from tbq.select import MAX_STEP, MIN_STEP, Selection

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from tbq.logdir import LogDir
    from tbq.problems import Problem
    from tbq.source import Run

#: The tables about the logdir itself: small, and not selected from while reading.
OVERVIEWS = ("runs", "tags", "files", "problems")


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
        self._answers: dict[str, pa.Table] = {}

    def scanner(self, columns: Any = None, filter: pc.Expression | None = None, **options: Any) -> ds.Scanner:
        """A scanner of the rows that pass the filter, as `pyarrow.dataset.Dataset.scanner`."""
        if self._only is not None:
            filter = self._only if filter is None else self._only & filter
        try:
            table = self._read(filter)
        except Exception as failure:
            self._reading.failure = failure  # whoever called may wrap it beyond recognition
            raise
        return ds.InMemoryDataset(table).scanner(columns=columns, filter=filter, **options)

    def filter(self, expression: pc.Expression) -> LogDataset:
        """The dataset with a filter that every scan applies."""
        both = expression if self._only is None else self._only & expression
        return LogDataset(self._log, self._kind, self._reading, self._extra, both)

    # What Arrow would answer from its own side of the dataset, where there are no rows.

    def get_fragments(self, filter: pc.Expression | None = None) -> Any:
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

    def _read(self, filter: pc.Expression | None) -> pa.Table:
        """The rows that may pass. Within a query, the same question is answered once: tables join themselves."""
        if not self._reading.later:
            return self._decode(filter)
        question = str(filter)
        if question not in self._answers:
            self._answers[question] = self._decode(filter)
        return self._answers[question]

    def _decode(self, filter: pc.Expression | None) -> pa.Table:
        if self._kind in OVERVIEWS:
            return self._log.table(self._kind).to_arrow()
        runs, tags, steps = self._log._found.runs, Selection(None), (MIN_STEP, MAX_STEP)
        seen: dict[str, bool] = {}
        if filter is not None:
            asked = Filter(filter, self.schema)
            names = set(asked.names("run", self._log.runs))
            runs = [run for run in runs if run.name in names]
            tags = _noting(asked.tags(), seen)
            if not any(how[0] == "ema" for how in self._extra.values()):  # which needs the whole curve
                steps = asked.steps()
            if steps[0] > steps[1]:
                runs = []
        table, began = read(self._log, self._kind, runs, tags, steps, self._reading)
        if self._reading.on_scan is not None:
            self._reading.on_scan(Scan(self._kind, len(runs), steps, table.num_rows, seen))
        for name, how in self._extra.items():
            table = table.append_column(name, _computed(table, how, began))
        return table


def _noting(tags: Selection, seen: dict[str, bool]) -> Selection:
    if tags.everything:
        return tags

    def test(tag: str) -> bool:
        seen[tag] = tags.matches(tag)
        return seen[tag]

    return Matching((), "tag", test)


def read(
    log: LogDir, kind: str, runs: Sequence[Run], tags: Selection, steps: tuple[int, int], reading: Reading
) -> tuple[pa.Table, dict[str, float]]:
    """Decode one kind of these runs: its table, and when each run began."""
    if not runs:
        return schema(kind).empty_table(), {}
    options = _decode.Options(tag=tags, steps=steps, restarts=reading.restarts, threads=reading.threads)
    table, reports, problems = log._rows(kind, runs, options)
    reading.found(problems)
    began: dict[str, float] = {}
    for report in reports:
        if report.timed:
            name = runs[report.run].name
            began[name] = min(began.get(name, report.first_wall_time), report.first_wall_time)
    return (table if table.schema.equals(schema(kind)) else table.cast(schema(kind))), began


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
