"""Parquet: sorted by run and tag, zstd, in row groups that end where a series ends, so filters skip them."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import pyarrow as pa

    from tbq.export.options import Options

# A group holds whole series up to this many rows; a longer series is cut at the larger number.
_GROUP = 1 << 17
_LARGEST = 1 << 20


def write(table: pa.Table, stream: IO[bytes], options: Options) -> None:
    """Write the table with its origin in the metadata: `tbq.version`, `tbq.kind`, `tbq.logdir`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tbq import __version__

    starts = _series(table)
    if starts is None:
        table, starts = _sorted(table)
    origin = {"tbq.version": __version__, "tbq.kind": options.kind}
    if options.logdir is not None:
        origin["tbq.logdir"] = options.logdir
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **origin})
    labels = [field.name for field in table.schema if not _is_number(field.type)]
    encodings = {
        field.name: "DELTA_BINARY_PACKED" if pa.types.is_integer(field.type) else "BYTE_STREAM_SPLIT"
        for field in table.schema
        if field.type in (pa.int64(), pa.float64())
    }
    with pq.ParquetWriter(
        stream,
        table.schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=labels or False,
        column_encoding=encodings or None,
        write_page_index=True,
    ) as writer:
        for begin, end in _groups(starts, len(table)):
            writer.write_table(_compact(table.slice(begin, end - begin)), row_group_size=_LARGEST)


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _series(table: pa.Table) -> np.ndarray | None:
    """Where each series begins; None when rows are not ordered by run and tag."""
    import numpy as np

    from tbq.table.codes import codes_of, order_of

    keys = [name for name in ("run", "tag") if name in table.column_names]
    if not keys or not len(table):
        return np.zeros(1, np.int64)
    ranks = []
    for name in keys:
        codes, names = codes_of(table.column(name))
        ranks.append(order_of(names)[codes])
    changed = np.zeros(len(table) - 1, bool)
    equal = np.ones(len(table) - 1, bool)
    for rank in ranks:
        if bool(((rank[1:] < rank[:-1]) & equal).any()):
            return None
        changed |= rank[1:] != rank[:-1]
        equal &= rank[1:] == rank[:-1]
    return np.concatenate([[0], np.flatnonzero(changed) + 1])


def _sorted(table: pa.Table) -> tuple[pa.Table, np.ndarray]:
    import numpy as np

    from tbq.table.codes import codes_of, order_of

    keys = []
    for name in ("tag", "run"):
        if name in table.column_names:
            codes, names = codes_of(table.column(name))
            keys.append(order_of(names)[codes])
    table = table.take(np.lexsort(keys))
    starts = _series(table)
    assert starts is not None
    return table, starts


def _groups(starts: np.ndarray, rows: int) -> Iterator[tuple[int, int]]:
    """Cuts at the starts of series: as many whole series as fit a group, at least one."""
    import numpy as np

    begin = 0
    while begin < rows or (rows == 0 and begin == 0):
        i = int(np.searchsorted(starts, begin + _GROUP, side="right")) - 1
        end = int(starts[i]) if i >= 0 and starts[i] > begin else 0
        if end == 0:
            after = int(np.searchsorted(starts, begin, side="right"))
            end = int(starts[after]) if after < len(starts) else rows
        if rows - begin <= _GROUP:
            end = rows
        yield begin, end
        if rows == 0:
            return
        begin = end


def _compact(group: pa.Table) -> pa.Table:
    """The group with dictionaries of only the names it uses, so that its statistics are its own."""
    import numpy as np
    import pyarrow as pa

    from tbq.table.codes import codes_of

    for i, field in enumerate(group.schema):
        if not pa.types.is_dictionary(field.type) or group.column(i).null_count:
            continue
        codes, names = codes_of(group.column(i))
        used = np.flatnonzero(np.bincount(codes, minlength=1))
        if len(used) < len(names) or group.column(i).num_chunks > 1:
            fresh = np.zeros(len(names), np.int32)
            fresh[used] = np.arange(len(used), dtype=np.int32)
            array = pa.DictionaryArray.from_arrays(pa.array(fresh[codes]), names.take(pa.array(used)))
            group = group.set_column(i, field, pa.chunked_array([array]))
    return group
