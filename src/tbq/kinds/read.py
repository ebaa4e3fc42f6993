"""`tbq.read`: a table from a file that tbq wrote, with its original kind, types and bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.arguments import path as _path
from tbq.errors import SourceError, UsageError
from tbq.source.urls import refuse_remote

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.table import Table

_PARQUET = b"PAR1"
_ARROW = b"ARROW1"


def read(path: str | os.PathLike[str]) -> Table:
    """Read a `.parquet`, `.arrow` or `.feather` file back into a Table of its kind.

    >>> paths = log.images().write("images.parquet")
    >>> tbq.read("images.parquet").image(0).size
    (32, 32)
    """
    from tbq.kinds.tables import table_of

    path = _path("path", path)
    refuse_remote(path)
    if not Path(path).is_file():
        raise SourceError("no such file", path=path)
    try:
        with open(path, "rb") as file:
            magic = file.read(6)
    except OSError as failure:
        raise SourceError(f"cannot be read: {failure.strerror}", path=path) from failure
    if magic.startswith(_PARQUET):
        table = _parquet(path)
    elif magic == _ARROW:
        table = _arrow(path)
    else:
        raise UsageError(
            "not a Parquet or Arrow file",
            path=path,
            hint="only these keep bytes and types; tbq.open() reads event files",
        )
    origin = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    kind = origin.get("tbq.kind") or "table"
    began = _began(origin.get("tbq.began"))
    return table_of(_typed(table, kind), kind, origin.get("tbq.logdir"), began)  # type: ignore[no-any-return]


def _began(text: str | None) -> dict[str, float] | None:
    """When the runs began, if the file has that in valid form."""
    import json

    try:
        starts = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    if not isinstance(starts, dict) or not all(isinstance(start, float) for start in starts.values()):
        return None
    return starts


def _parquet(path: Any) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        # Values that were known only at the end of writing are in the file's metadata, beside the schema.
        of_file = pq.read_metadata(path).metadata or {}
        ours = {key: value for key, value in of_file.items() if key.startswith(b"tbq.")}
        return table.replace_schema_metadata({**(table.schema.metadata or {}), **ours})
    except (pa.ArrowException, OSError) as failure:
        raise SourceError(f"cannot be read: {failure}", path=path) from failure


def _arrow(path: Any) -> pa.Table:
    import pyarrow as pa

    try:
        with pa.memory_map(os.fspath(path)) as source:
            return pa.ipc.open_file(source).read_all()
    except (pa.ArrowException, OSError) as failure:
        raise SourceError(f"cannot be read: {failure}", path=path) from failure


def _typed(table: pa.Table, kind: str) -> pa.Table:
    """The table with the types of its kind (Parquet returns dictionaries with other types)."""
    import pyarrow as pa

    from tbq.schema import KINDS, schema

    metadata = {
        key: value for key, value in (table.schema.metadata or {}).items() if not key.startswith(b"tbq.")
    }
    table = table.replace_schema_metadata(metadata or None)
    if kind not in KINDS or table.column_names != schema(kind).names:
        return table
    if "wall_time" in table.column_names and not pa.types.is_floating(table.schema.field("wall_time").type):
        return table  # times written as dates stay dates
    return table.cast(schema(kind))
