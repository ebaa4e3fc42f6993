"""Arrow IPC files: `.arrow` as in memory, `.feather` compressed with LZ4."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import pyarrow as pa

from tbq.export.options import with_origin

if TYPE_CHECKING:
    from tbq.export.options import ExportOptions

_BATCH = 1 << 16  # rows: how a table is divided in memory depends on the number of threads


def write(table: pa.Table, stream: IO[bytes], options: ExportOptions) -> None:
    """Write the table as an Arrow IPC file, with its origin in the metadata as in Parquet."""
    # A file, unlike a stream, holds one dictionary per column.
    table = with_origin(table.unify_dictionaries(), options)
    compression = "lz4" if options.format == "feather" and pa.Codec.is_available("lz4") else None
    settings = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(stream, table.schema, options=settings) as writer:
        for first in range(0, len(table), _BATCH):
            writer.write_table(table.slice(first, _BATCH).combine_chunks())
