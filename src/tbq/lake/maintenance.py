"""Joins small data files, and deletes data files that are no longer needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tbq.errors import OutputError
from tbq.lake.datafiles import DataFile, read_file
from tbq.lake.order import in_log_order, labels_of
from tbq.lake.tables import ConflictError, LakeTable, open_tables

if TYPE_CHECKING:
    from tbq.lake.location import Location

#: A table with this many small files is compacted automatically.
SEVERAL = 32
#: Files below the first size are small. They are joined into files of about the second size.
SMALL_BYTES = 1 << 24
JOINED_BYTES = 1 << 26
#: How long a sync may take between writing a data file and committing it.
UNCOMMITTED_HOURS = 1


def maintain(place: Location, compact: bool | None, retention: float, changed: bool) -> None:
    """Compact tables with many small files, or every table if `compact`; then delete files that are not needed."""
    if compact is False or not (changed or compact):
        return
    rearranged = False
    for table in open_tables(place).values():
        small = [file for file in table.files if file.size < SMALL_BYTES]
        if len(small) >= (2 if compact else SEVERAL):
            rearranged = join(table, small) or rearranged
    if compact or rearranged:
        vacuum(place, retention)


def join(table: LakeTable, files: list[DataFile]) -> bool:
    """Write the rows of these files as fewer files. If a sync commits meanwhile, its commit wins."""
    import pyarrow as pa

    groups: list[list[DataFile]] = [[]]
    size = 0
    for file in files:
        if size + file.size > JOINED_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.size
    added: list[DataFile] = []
    removed: list[DataFile] = []
    for group in groups:
        if len(group) > 1:
            rows = pa.concat_tables([read_file(table.place, table.kind, file.path) for file in group])
            added += table.write(in_log_order(rows.unify_dictionaries(), labels_of(table.kind)))
            removed += group
    if not removed:
        return False
    try:
        table.rearrange(added, removed)
    except ConflictError:
        return False
    return True


def vacuum(place: Location, retention: float) -> int:
    """Delete the data files that no version of the last `retention` hours uses; returns their number.

    A sync on another machine may be about to commit a file that no version uses yet, so such a file stays for an hour.
    """
    hours = math.ceil(retention)  # deltalake takes whole hours; keep files longer rather than shorter
    deleted = 0
    for table in open_tables(place).values():
        if table.exists:
            if hours < UNCOMMITTED_HOURS:
                deleted += _vacuum(table, hours, full=False)
            deleted += _vacuum(table, max(hours, UNCOMMITTED_HOURS), full=True)
    return deleted


def _vacuum(table: LakeTable, hours: int, full: bool) -> int:
    """Delete files that an old version used; with `full`, also files that no version used. A concurrent commit wins."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        return len(table.delta.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=full))
    except CommitFailedError:
        return 0  # the next sync does it
    except (DeltaError, OSError) as failure:
        raise OutputError(
            f"data files that are no longer needed cannot be deleted: {failure}",
            path=table.place.table(table.kind),
            hint="the lake is intact; run tbq sync --compact again once you have permission",
            code="lake",
        ) from failure
