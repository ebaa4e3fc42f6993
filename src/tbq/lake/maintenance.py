"""Small data files joined, and those that are not needed any more deleted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tbq.errors import OutputError
from tbq.lake.datafiles import DataFile, read_file
from tbq.lake.order import in_log_order, labels_of
from tbq.lake.tables import ConflictError, LakeTable, look

if TYPE_CHECKING:
    from tbq.lake.location import Location

#: A table with this many small files is compacted without being asked.
SEVERAL = 32
#: Files below this size are small; they are joined to files of about the second size.
SMALL_BYTES = 1 << 24
JOINED_BYTES = 1 << 26
#: How long a sync may take between writing a data file and committing it.
UNCOMMITTED_HOURS = 1


def maintain(place: Location, compact: bool | None, retention: float, changed: bool) -> None:
    """Compact tables that have many small files, or all of them if `compact`; vacuum if there may be something."""
    if compact is False or not (changed or compact):
        return
    rearranged = False
    for table in look(place).values():
        small = [file for file in table.files if file.size < SMALL_BYTES]
        if len(small) >= (2 if compact else SEVERAL):
            rearranged = join(table, small) or rearranged
    if compact or rearranged:
        vacuum(place, retention)


def join(table: LakeTable, files: list[DataFile]) -> bool:
    """Write the rows of files as fewer ones. A sync that commits meanwhile wins."""
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
    """Delete the data files that no version of the last `retention` hours has; how many there were.

    A file that no version ever had may be that of a sync on another machine, which is about to commit it: it stays for
    an hour in any case.
    """
    hours = math.ceil(retention)  # deltalake takes whole hours: rather more than was asked for than less
    deleted = 0
    for table in look(place).values():
        if table.exists:
            if hours < UNCOMMITTED_HOURS:
                deleted += _vacuum(table, hours, full=False)
            deleted += _vacuum(table, max(hours, UNCOMMITTED_HOURS), full=True)
    return deleted


def _vacuum(table: LakeTable, hours: int, full: bool) -> int:
    """Delete the files that a version had; with `full` those that none had too. A sync that commits meanwhile wins."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        return len(table.delta.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=full))
    except CommitFailedError:
        return 0  # it is done by whoever comes next
    except (DeltaError, OSError) as failure:
        raise OutputError(
            f"data files that are not needed any more cannot be deleted: {failure}",
            path=table.place.table(table.kind),
            hint="the lake is right; run tbq sync --compact again once there is permission",
            code="lake",
        ) from failure
