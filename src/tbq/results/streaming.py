"""Write `Rows` to a file, batch by batch, with the writers of `tbq.export`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from tbq.export import Options, compressed, format_of, output, write
from tbq.export.options import origin

if TYPE_CHECKING:
    import os

    from tbq.results.rows import Rows

Batches = Iterator[pa.RecordBatch]


def write_rows(
    rows: Rows,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    format: str | None = None,
    own: dict[str, Callable[[IO[bytes]], object]],
    **given: Any,
) -> None:
    """Write rows as a stream if the format allows it; `own` are faster writers of some formats."""
    name, compression = format_of(path, format)
    options = replace(Options(kind=rows.kind, **given), format=name)
    if name not in _WRITERS:
        write(rows.to_table(), path, force=force, format=format, **given)
        return
    with output(path, force) as stream, compressed(stream, compression) as squeezed:
        if name in own and not options.csv_safe:
            own[name](squeezed)
        else:
            _WRITERS[name](rows.batches(), squeezed, options)


def _csv(batches: Batches, stream: IO[bytes], options: Options) -> None:
    from tbq.export.csv import SEPARATORS
    from tbq.export.rows import csv_rows, refuse_bytes
    from tbq.export.rows import write_rows as write_text

    writer = None
    for batch in batches:
        if writer is None:
            refuse_bytes(batch.schema, options.format)
            separator = SEPARATORS[options.format]
            writer = csv_rows(batch.schema.names, separator, options)
            stream.write(separator.join(writer.quoted(name) for name in batch.schema.names).encode() + b"\n")
        write_text(pa.Table.from_batches([batch]), stream, writer, options)


def _jsonl(batches: Batches, stream: IO[bytes], options: Options) -> None:
    from tbq.export.rows import json_rows, refuse_bytes
    from tbq.export.rows import write_rows as write_text

    for batch in batches:
        refuse_bytes(batch.schema, options.format)
        writer = json_rows(batch.schema.names, "", "}\n", options)
        write_text(pa.Table.from_batches([batch]), stream, writer, options)


def _parquet(batches: Batches, stream: IO[bytes], options: Options) -> None:
    import pyarrow.parquet as pq

    first = next(batches)
    schema = first.schema.with_metadata({**(first.schema.metadata or {}), **origin(options)})
    with pq.ParquetWriter(stream, schema, compression="zstd", compression_level=1) as writer:
        for batch in _with(first, batches):
            writer.write_batch(batch.replace_schema_metadata(schema.metadata), row_group_size=1 << 20)


def _arrow(batches: Batches, stream: IO[bytes], options: Options) -> None:
    first = next(batches)
    schema = first.schema.with_metadata({**(first.schema.metadata or {}), **origin(options)})
    with pa.ipc.new_file(stream, schema) as writer:
        for batch in _with(first, batches):
            writer.write_batch(batch)


def _with(first: pa.RecordBatch, rest: Batches) -> Batches:
    yield first
    yield from rest


_WRITERS: dict[str, Callable[[Batches, IO[bytes], Options], None]] = {
    "csv": _csv,
    "tsv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "arrow": _arrow,
}
