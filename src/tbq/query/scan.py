"""`log.scan(kind)`: a table as a stream of Arrow batches, decoded a few runs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Unpack

import pyarrow as pa

from tbq.arguments import keywords
from tbq.arrow import to_pyarrow
from tbq.columns.rows import having, with_strings
from tbq.decode.options import EVERYTHING, SELECTED, Selected
from tbq.kinds.overview import OVERVIEWS, overview
from tbq.query.prune import Filter, Matching
from tbq.query.scanning import FIRST_BYTES, Question, Scanning, in_groups, relative
from tbq.schema import schema
from tbq.select import Names, Selection
from tbq.select import steps as _steps
from tbq.source.files import GROUP_BYTES, groups

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from tbq.decode.reader import Reader
    from tbq.source import Run


def scan(
    reader: Reader,
    kind: str = "scalars",
    tag: Names = None,
    relative_time: bool = False,
    columns: Sequence[str] | None = None,
    where: pc.Expression | None = None,
    **selected: Unpack[Selected],
) -> pa.RecordBatchReader:
    """Stream the rows of a kind, run by run; memory follows the largest run, not the log.

    `columns` limits the columns, `where` the rows; parts of values that neither needs are not read.
    """
    extra = relative(kind, relative_time)
    if kind in OVERVIEWS:
        return to_pyarrow(overview(reader, kind, tag, **selected)).to_reader()
    keywords("log.scan", selected, ("kind", "relative_time", *SELECTED))
    tags = Selection.of(tag)
    steps = _steps(selected.pop("steps", None))
    runs = reader.choose(selected.pop("run", None))
    seen: set[str] = set()
    every = pa.schema([*schema(kind), *(pa.field(name, pa.float64()) for name in extra)])
    condition = None if where is None else Filter(where, every)
    also = EVERYTHING
    needed = None if columns is None else set(columns)
    if condition is not None:
        runs = runs_of(condition, runs)
        also = condition.tags()
        steps = max(steps[0], (of_filter := condition.steps())[0]), min(steps[1], of_filter[1])
        if needed is not None:
            needed |= {name for name in schema(kind).names if condition.uses(name)}
    if needed is not None and not tags.everything:
        needed.add("tag")
    runs = runs if steps[0] <= steps[1] else []
    if len(list(groups(runs, FIRST_BYTES, GROUP_BYTES, reader.size_of))) > 1:
        tags = reader.settled(tags, runs)
    wanted = None if needed is None else tuple(sorted(needed))
    question = Question(kind, runs, _noting(tags, also, seen), steps, wanted, extra)
    tables = in_groups(reader, question, Scanning(**selected, warned=reader.warned))  # type: ignore[misc]
    names = question.schema.names if columns is None else list(columns)
    batches = _batches(tables, reader, tags, seen, names, where)
    return pa.RecordBatchReader.from_batches(
        pa.schema([question.schema.field(name) for name in names]), batches
    )


def runs_of(condition: Filter, runs: Sequence[Run]) -> list[Run]:
    """The runs that may pass a filter."""
    names = set(condition.names("run", [run.name for run in runs]))
    return [run for run in runs if run.name in names]


def _noting(tags: Selection, also: Selection, seen: set[str]) -> Selection:
    """The intersection of both selections; it also notes each tag that it tests."""
    if tags.everything:
        return also

    def test(tag: str) -> bool:
        seen.add(tag)
        return tags.matches(tag) and also.matches(tag)

    return Matching((), test=test)


def _batches(
    tables: Iterator[pa.Table],
    reader: Reader,
    tags: Selection,
    seen: set[str],
    columns: Sequence[str],
    where: pc.Expression | None,
) -> Iterator[pa.RecordBatch]:
    """The batches. All tags are known only at the end: a selection that matched nothing raises then."""
    for table in tables:
        exact = not tags.everything and any(name in seen for name in tags.items or ())
        if exact:
            table = having(table, "tag", tags.resolve(seen).names)
        yield from (table if where is None else _passing(table, where)).select(columns).to_batches()
    if not tags.everything:
        tags.require(seen, where=reader.path, others=lambda: reader.names)


def _passing(table: pa.Table, where: pc.Expression) -> pa.Table:
    """The rows that pass a filter."""
    try:
        return table.filter(where)
    except pa.ArrowNotImplementedError:  # string functions are not defined for labels
        place = "".join(table.column_names) + "#"  # a name different from every column
        plain = table.cast(with_strings(table.schema))
        return table.take(plain.append_column(place, pa.array(range(len(table)))).filter(where)[place])
