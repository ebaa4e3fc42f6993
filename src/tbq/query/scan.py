"""`log.scan(kind)`: a table as a stream of Arrow batches, decoded a few runs at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

import pyarrow as pa

from tbq.arguments import keywords
from tbq.columns.rows import having
from tbq.decode.options import SELECTED, Selected
from tbq.kinds.overview import OVERVIEWS, overview
from tbq.query.prune import Matching
from tbq.query.scanning import Question, Scanning, in_groups, relative
from tbq.select import Names, Selection
from tbq.select import steps as _steps

if TYPE_CHECKING:
    from tbq.decode.reader import Reader


def scan(
    reader: Reader,
    kind: str = "scalars",
    run: Names = None,
    relative_time: bool = False,
    **selected: Unpack[Selected],
) -> pa.RecordBatchReader:
    """Stream the rows of a kind, run by run; memory follows the largest run, not the log."""
    extra = relative(kind, relative_time)
    if kind in OVERVIEWS:
        return overview(reader, kind, run, **selected).to_reader()
    keywords("log.scan", selected, SELECTED)
    tags = Selection.of(selected.pop("tag", None))
    steps = _steps(selected.pop("steps", None))
    seen: set[str] = set()
    question = Question(kind, reader.choose(run), _noting(tags, seen), steps, extra=extra)
    tables = in_groups(reader, question, Scanning(**selected))  # type: ignore[misc]
    return pa.RecordBatchReader.from_batches(question.schema, _batches(tables, reader, tags, seen))


def _noting(tags: Selection, seen: set[str]) -> Selection:
    """The selection, which also notes each tag that it is asked about."""
    if tags.everything:
        return tags

    def test(tag: str) -> bool:
        seen.add(tag)
        return tags.matches(tag)

    return Matching((), "tag", test)


def _batches(
    tables: Iterator[pa.Table], reader: Reader, tags: Selection, seen: set[str]
) -> Iterator[pa.RecordBatch]:
    """The batches. Which tags there are is known at the end: a selection that matched nothing is an error then."""
    for table in tables:
        exact = not tags.everything and any(name in seen for name in tags.items or ())
        yield from (having(table, "tag", tags.resolve(seen).names) if exact else table).to_batches()
    if not tags.everything:
        tags.require(seen, where=reader.path)
