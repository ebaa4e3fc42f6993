"""`log.scan(kind)`: a table as a stream of Arrow batches, decoded a few runs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.query.dataset import OVERVIEWS, Reading, read
from tbq.schema import schema
from tbq.select import Names, Selection, Steps
from tbq.select import steps as _steps

if TYPE_CHECKING:
    from tbq.logdir import LogDir
    from tbq.source import Run

#: Runs are decoded together until their files have this many bytes: enough for all cores, little to hold.
GROUP_BYTES = 64 * 1024 * 1024


def scan(
    log: LogDir,
    kind: str = "scalars",
    *,
    run: Names = None,
    tag: Names = None,
    steps: Steps = None,
    **options: Any,
) -> pa.RecordBatchReader:
    """Stream the rows of a kind, run by run; memory follows the largest run, not the logdir."""
    wanted = schema(kind)
    if kind in OVERVIEWS:
        return log.table(kind).to_arrow().to_reader()
    tags = Selection.of(tag)
    tables = in_groups(log, kind, log._choose(run), tags, _steps(steps), Reading(**options))
    return pa.RecordBatchReader.from_batches(wanted, _batches(tables))


def _batches(tables: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    for table in tables:
        yield from table.to_batches()


def in_groups(
    log: LogDir,
    kind: str,
    runs: Sequence[Run],
    tags: Selection,
    steps: tuple[int, int],
    reading: Reading,
) -> Iterator[pa.Table]:
    """The table of each few runs, one after the other."""
    for group in groups(runs, GROUP_BYTES):
        for table in read(log, kind, group, tags, steps, reading).tables():
            if table.num_rows:
                yield table


def groups(runs: Sequence[Run], limit: int) -> Iterator[list[Run]]:
    """Runs that follow each other, until their files have so many bytes; a larger run is alone."""
    group: list[Run] = []
    size = 0
    for run in runs:
        mine = sum(_size(path) for path in run.files)
        if group and size + mine > limit:
            yield group
            group, size = [], 0
        group.append(run)
        size += mine
    if group:
        yield group


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
