"""Write `Rows` to a file, batch by batch, with the writers of `tbq.export`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO, TYPE_CHECKING, Unpack

import pyarrow as pa

from tbq.arguments import StrPath, keywords
from tbq.export import ExportOptions, compressed, format_of, output, write
from tbq.export.fit import chosen
from tbq.export.options import WRITING, Writing, origin
from tbq.storage import using

if TYPE_CHECKING:
    from tbq.results.rows import Rows

Batches = Iterator[pa.RecordBatch]


def write_rows(
    rows: Rows, path: StrPath, own: dict[str, Callable[[IO[bytes]], object]], **writing: Unpack[Writing]
) -> list[str]:
    """Write rows as a stream if the format allows it. `own` has faster writers for some formats, if all columns are
    written."""
    keywords("rows.write", writing, WRITING)
    name, compression = format_of(path, writing.get("format"))
    if name not in _WRITERS or "{run}" in os.fspath(path):
        return write(rows.to_table(), path, **writing)
    force, storage = writing.pop("force", False), writing.pop("storage", None)
    options = ExportOptions(kind=rows.kind, **{**writing, "format": name})  # type: ignore[arg-type]
    with (
        using(storage=storage),
        output(path, force) as stream,
        compressed(stream, compression) as squeezed,
    ):
        if name in own and not options.csv_safe and options.columns is None:
            own[name](squeezed)
        else:
            _WRITERS[name](_chosen(rows.batches(), options), squeezed, options)
    return [os.fspath(path)]


def _chosen(batches: Batches, options: ExportOptions) -> Batches:
    """The batches with the selected columns."""
    if options.columns is None:
        yield from batches
        return
    names = None
    for batch in batches:
        if names is None:
            names = chosen(batch.schema.empty_table(), options.columns).column_names
        yield batch.select(names)


def _text(batches: Batches, stream: IO[bytes], options: ExportOptions) -> None:
    from tbq.export.stream import RowStream

    rows = RowStream(stream, options)
    for batch in batches:
        rows.write(pa.Table.from_batches([batch]))


def _parquet(batches: Batches, stream: IO[bytes], options: ExportOptions) -> None:
    import pyarrow.parquet as pq

    first = next(batches)
    schema = first.schema.with_metadata({**(first.schema.metadata or {}), **origin(options)})
    with pq.ParquetWriter(stream, schema, compression="zstd", compression_level=1) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch.replace_schema_metadata(schema.metadata), row_group_size=1 << 20)


def _arrow(batches: Batches, stream: IO[bytes], options: ExportOptions) -> None:
    first = next(batches)
    schema = first.schema.with_metadata({**(first.schema.metadata or {}), **origin(options)})
    with pa.ipc.new_file(stream, schema) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)


_WRITERS: dict[str, Callable[[Batches, IO[bytes], ExportOptions], None]] = {
    "csv": _text,
    "tsv": _text,
    "jsonl": _text,
    "parquet": _parquet,
    "arrow": _arrow,
}
