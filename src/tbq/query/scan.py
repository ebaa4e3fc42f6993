"""`log.scan(kind)`: a table as a stream of Arrow batches, decoded a few runs at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.query.reading import OVERVIEWS, Question, Reading, in_groups, relative
from tbq.select import Names, Selection, Steps
from tbq.select import steps as _steps

if TYPE_CHECKING:
    from tbq.logdir import LogDir


def scan(
    log: LogDir,
    kind: str = "scalars",
    *,
    run: Names = None,
    tag: Names = None,
    steps: Steps = None,
    relative_time: bool = False,
    **options: Any,
) -> pa.RecordBatchReader:
    """Stream the rows of a kind, run by run; memory follows the largest run, not the logdir."""
    extra = relative(kind, relative_time)
    if kind in OVERVIEWS:
        return log.table(kind).to_arrow().to_reader()
    question = Question(kind, log._choose(run), Selection.of(tag), _steps(steps), extra=extra)
    tables = in_groups(log, question, Reading(**options))
    return pa.RecordBatchReader.from_batches(question.schema, _batches(tables))


def _batches(tables: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    for table in tables:
        yield from table.to_batches()
