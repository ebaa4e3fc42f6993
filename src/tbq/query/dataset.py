"""`log.dataset(kind)`: a table of a log as a `pyarrow.dataset.Dataset`, which reads only what a scan needs.

Columns and filters of a scan reach the native reader: it opens only runs, and stores only tags and steps, that may
pass the filter. The filter is then applied exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa
import pyarrow.dataset as ds

from tbq.arguments import keywords
from tbq.decode.options import READING, Reading
from tbq.kinds.overview import OVERVIEWS
from tbq.query.prune import Filter, Matching
from tbq.query.scanning import Question, ScannedRows, Scanning, in_groups, read, relative
from tbq.schema import schema
from tbq.select import MAX_STEP, MIN_STEP, Selection

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from tbq.decode.reader import Reader


#: The most pairs of a run and a tag to test a filter on, instead of on the rows.
_FEW = 1000


class LogDataset(ds.InMemoryDataset):  # type: ignore[misc]
    """One table of a logdir; `extra` adds computed columns: name → ("ema", weight) or ("relative_time",)."""

    def __init__(
        self,
        reader: Reader,
        kind: str = "scalars",
        scanning: Scanning | None = None,
        extra: Mapping[str, tuple[Any, ...]] | None = None,
        only: pc.Expression | None = None,
    ) -> None:
        self._extra = dict(extra or {})
        added = [pa.field(name, pa.float64()) for name in self._extra]
        super().__init__(pa.schema([*schema(kind), *added]).empty_table())
        self._reader, self._kind, self._only = reader, kind, only
        self._scanning = scanning or Scanning(warned=reader.warned)
        self._answers: dict[str, ScannedRows] = {}  # earlier results by filter

    def scanner(
        self,
        columns: Any = None,
        filter: pc.Expression | None = None,  # noqa: A002 - Arrow's name
        **options: Any,
    ) -> ds.Scanner | _Reader:
        """A scanner of the rows that pass the filter, like `pyarrow.dataset.Dataset.scanner`.

        >>> import pyarrow.compute as pc
        >>> log.dataset().scanner(["step"], filter=pc.field("tag") == "lr").to_table().num_rows
        160
        """
        where = filter if self._only is None else self._only if filter is None else self._only & filter
        plain = self._scanning.later and not options and not isinstance(columns, dict)  # a call by DuckDB
        try:
            if self._kind in OVERVIEWS:
                table = self._scanning.overview(self._reader, self._kind)
                return ds.InMemoryDataset(table).scanner(columns=columns, filter=where, **options)
            question = self._question(columns, where)
            if plain and self._scanning.limited:
                return self._stream(
                    in_groups(self._reader, question, self._scanning), question, columns, where
                )
            rows = self._rows(question, where)
        except Exception as failure:
            self._scanning.failure = failure  # the caller may wrap it beyond recognition
            raise
        if rows.table is None:
            if plain:
                return self._stream(rows.tables(), rows.question, columns, where)
            batches = (batch for table in rows.tables() for batch in table.to_batches())
            return ds.Scanner.from_batches(
                batches, schema=rows.question.schema, columns=columns, filter=where, **options
            )
        if plain and (where is None or _all_pass(rows.table, where)):
            return _Reader((rows.table if columns is None else rows.table.select(columns)).to_reader())
        return ds.InMemoryDataset(rows.table).scanner(columns=columns, filter=where, **options)

    def filter(self, expression: pc.Expression) -> LogDataset:
        """The dataset with a filter that applies to every scan.

        >>> import pyarrow.compute as pc
        >>> log.dataset().filter(pc.field("step") < 10).to_table()["step"].unique().to_pylist()[:3]
        [0, 1, 2]
        """
        both = expression if self._only is None else self._only & expression
        return LogDataset(self._reader, self._kind, self._scanning, self._extra, both)

    def count_rows(self, **options: Any) -> int:
        """The number of rows that pass the filter.

        >>> log.dataset(kind="images").count_rows()
        3
        """
        return int(self.scanner(columns=["run"], **options).count_rows())

    # Arrow would answer these from its own side of the dataset, which has no rows.

    def get_fragments(self, filter: pc.Expression | None = None) -> Any:  # noqa: A002 - Arrow's name
        return self._everything().get_fragments(filter)

    def sort_by(self, sorting: Any, **options: Any) -> Any:
        return self._everything().sort_by(sorting, **options)

    def join(self, *arguments: Any, **options: Any) -> Any:
        return self._everything().join(*arguments, **options)

    def join_asof(self, *arguments: Any, **options: Any) -> Any:
        return self._everything().join_asof(*arguments, **options)

    def replace_schema(self, schema: pa.Schema) -> Any:
        return self._everything().replace_schema(schema)

    def __reduce__(self) -> Any:
        raise TypeError(
            "a dataset of a log cannot be pickled: pickle the log, and make the dataset after unpickling"
        )

    def _everything(self) -> ds.InMemoryDataset:
        return ds.InMemoryDataset(self.to_table())

    def _question(self, columns: Any, where: pc.Expression | None) -> Question:
        """What to read for these columns of the rows that may pass."""
        wanted = set(columns) if isinstance(columns, list | tuple) else None
        runs, tags, steps = self._reader.runs, Selection(None), (MIN_STEP, MAX_STEP)
        seen: dict[str, bool] = {}
        if where is not None:
            condition = Filter(where, self.schema)
            names = set(condition.names("run", self._reader.names))
            runs = [run for run in runs if run.name in names]
            tags = _noting(condition.tags(), seen)
            # A moving average needs the full curve.
            if not any(how[0] == "ema" for how in self._extra.values()):
                steps = condition.steps()
            if steps[0] > steps[1]:
                runs = []
            if wanted is not None:
                wanted |= {name for name in self.schema.names if name not in wanted and condition.uses(name)}
        kept = None if wanted is None else tuple(sorted(wanted))
        return Question(self._kind, runs, tags, steps, kept, self._extra, seen)

    def _rows(self, question: Question, where: pc.Expression | None) -> ScannedRows:
        """The rows that may pass. Within a query, repeated questions are read once: a table may join itself."""
        known = self._answers.get(str(where))
        if known is not None:
            if set(question.schema.names) <= set(known.question.schema.names):
                return known
            question = replace(question, columns=None)
        rows = read(self._reader, question, self._scanning)
        if self._scanning.on_scan is not None:
            self._scanning.on_scan(question.scan(rows.count, len(question.runs)))
        if self._scanning.later:
            self._answers[str(where)] = rows
        return rows

    def _stream(
        self,
        tables: Iterator[pa.Table],
        question: Question,
        columns: list[str] | None,
        where: pc.Expression | None,
    ) -> _Reader:
        """Stream the tables on demand, filtered here: Arrow's scanner would read far ahead."""
        names = question.schema.names if columns is None else columns

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for table in tables:
                    yield from (table if where is None else table.filter(where)).select(names).to_batches()
            except Exception as failure:
                self._scanning.failure = failure
                raise

        fields = pa.schema([question.schema.field(name) for name in names])
        return _Reader(pa.RecordBatchReader.from_batches(fields, batches()))


def _all_pass(table: pa.Table, where: pc.Expression) -> bool:
    """Whether every row passes a filter of runs and tags, which is usual: the reader stored only matching rows."""
    condition = Filter(where, table.schema)
    used = [name for name in table.column_names if condition.uses(name)]
    if not table.num_rows or not {"run", "tag"}.issuperset(used):
        return False
    names = [table.column(name).chunk(0).dictionary.to_pylist() for name in used]
    if math.prod(map(len, names)) > _FEW:
        return False
    pairs = [dict(zip(used, pair, strict=True)) for pair in itertools.product(*names)]
    every = pa.Table.from_pylist(pairs, pa.schema([table.schema.field(name) for name in used]))
    return bool(every.filter(where).num_rows == every.num_rows)


class _Reader:
    """A scanner with what DuckDB uses of it: its rows, once."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader

    def to_reader(self) -> pa.RecordBatchReader:
        return self._reader

    def __getattr__(self, name: str) -> Any:
        return getattr(ds.Scanner.from_batches(self._reader), name)


def _noting(tags: Selection, seen: dict[str, bool]) -> Selection:
    if tags.everything:
        return tags

    def test(tag: str) -> bool:
        seen[tag] = tags.matches(tag)
        return seen[tag]

    return Matching((), test=test)


def dataset(
    reader: Reader, kind: str = "scalars", relative_time: bool = False, **reading: Unpack[Reading]
) -> LogDataset:
    """One table of a log as a `pyarrow.dataset.Dataset`."""
    keywords("log.dataset", reading, ("kind", "relative_time", *READING))
    return LogDataset(reader, kind, Scanning(**reading, warned=reader.warned), relative(kind, relative_time))
