"""The data files of tables: Parquet, sorted by tag and run, with statistics that let readers skip files."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from tbq.errors import SourceError
from tbq.lake.layout import SOURCE, delta_schema, lake_schema
from tbq.lake.location import in_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.export.parquet import Stretches
    from tbq.lake.location import Location

#: Most rows of a file. Overviews are rewritten when runs grow, so their files are smaller.
MOST_ROWS = 1 << 24
OVERVIEW_ROWS = 1 << 14
#: Approximate bytes of values per file: so much is in memory while a file is written.
MOST_BYTES = 1 << 28
# With LZ4 after their encodings, columns of numbers are as small, and are read in half the time.
_CODECS = {"scalars": "lz4"}
_LONGEST = 200  # characters of a name in the statistics


class DataFile(NamedTuple):
    """A data file, written or already part of a table, as its Add action describes it."""

    path: str  # below the table
    size: int
    stats: dict[str, Any]  # numRecords, minValues, maxValues, nullCount


def write_files(place: Location, kind: str, table: pa.Table) -> list[DataFile]:
    """Write rows as new data files of a table. They are part of the table once they are committed."""
    return [_write(place, kind, part) for part in _parts(table) if len(part)]


def read_file(place: Location, kind: str, path: str) -> pa.Table:
    """The rows of a data file."""
    import pyarrow.parquet as pq

    with reading(place, kind, path):
        table = pq.ParquetFile(in_arrow(place.read(f"{kind}/{path}"))).read()
        # Another program may have written string views, which cannot be cast to codes directly.
        plain = delta_schema(kind)
        return table.select(plain.names).cast(plain).cast(lake_schema(kind))


@contextlib.contextmanager
def reading(place: Location, kind: str, path: str) -> Iterator[None]:
    """Turn the errors of a missing or damaged data file into a SourceError with a hint."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException, KeyError) as failure:
        gone = isinstance(failure, FileNotFoundError)
        raise SourceError(
            "this data file of the lake is gone" if gone else "this data file of the lake is damaged",
            path=f"{place.table(kind)}/{path}",
            hint="if it was deleted after a sync with a short --retention, open the lake again; "
            f"else delete the folder {kind} of the lake: the next tbq sync recreates that table",
            code="lake",
        ) from failure


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    """Split rows, which are ordered by run, into one part per file. A part ends at the end of a run if possible, so
    that a reader need not sort the rows of several files."""
    import numpy as np

    from tbq.columns.codes import codes_of

    most = OVERVIEW_ROWS if SOURCE not in table.column_names else MOST_ROWS
    size = table.nbytes
    if size > MOST_BYTES:
        most = min(most, max(1, len(table) * MOST_BYTES // size))
    if len(table) <= most:
        yield table
        return
    codes, _ = codes_of(table["run"])
    ends = np.append(np.flatnonzero(codes[1:] != codes[:-1]) + 1, len(table))
    start = 0
    while start < len(table):
        fitting = int(np.searchsorted(ends, start + most, side="right")) - 1
        end = int(ends[fitting]) if fitting >= 0 and ends[fitting] > start else min(start + most, len(table))
        yield table.slice(start, end - start)
        start = end


def _write(place: Location, kind: str, table: pa.Table) -> DataFile:
    """Write one file. Rows with the same labels are already ordered by their number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tbq.export.parquet import Stretches, write_stretches
    from tbq.lake.order import file_order

    if kind == "scalars":  # ours have no nulls: columns that say so are read in half the time
        fields = [field.with_nullable(table[field.name].null_count > 0) for field in table.schema]
        table = pa.Table.from_arrays(table.columns, schema=pa.schema(fields))
    order = file_order(kind)
    stretches = Stretches.of(table, order[:-1], sort=True, beside=(SOURCE,))
    codec = _CODECS.get(kind, "zstd")
    path = f"part-{uuid.uuid4().hex}.{codec}.parquet"
    settings: dict[str, Any] = {} if codec == "zstd" else {"compression": codec, "compression_level": None}
    sorting = [pq.SortingColumn(table.column_names.index(name), nulls_first=True) for name in order]
    with place.write(f"{kind}/{path}") as stream:
        counted = _MeasuredStream(stream)
        write_stretches(stretches, counted, store_schema=False, sorting_columns=sorting, **settings)  # type: ignore[arg-type]
    return DataFile(path, counted.size, _statistics(stretches))


class _MeasuredStream:
    """A stream that counts the bytes written to it."""

    closed = False

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.size = 0

    def write(self, data: Any) -> int:
        self.size += memoryview(data).nbytes
        return self._stream.write(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._stream.flush()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        pass


def _statistics(stretches: Stretches) -> dict[str, Any]:
    """The number of rows, and the smallest and largest run, tag and step."""
    import numpy as np
    import pyarrow as pa

    from tbq.columns.codes import codes_of, numbers

    table = stretches.table
    least: dict[str, Any] = {}
    largest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    stretched = {key.column: (key.codes, key.names) for key in stretches.keys}
    for column in ("run", "tag"):
        if column in table.column_names:
            codes, known = stretched.get(column) or codes_of(table[column])
            nulls[column] = table[column].null_count
            used = np.unique(codes)
            names = known.take(pa.array(used[used >= 0])).to_pylist()
            if names:
                least[column], largest[column] = min(names)[:_LONGEST], _rounded_up(max(names))
    if "step" in table.column_names and len(table):
        steps = numbers(table["step"])
        least["step"], largest["step"], nulls["step"] = int(steps.min()), int(steps.max()), 0
    return {"numRecords": len(table), "minValues": least, "maxValues": largest, "nullCount": nulls}


def _rounded_up(name: str) -> str:
    """The name, or a shorter one that sorts after it: readers take a missing bound for a column of nulls.

    >>> _rounded_up("a" * 300) == "a" * (_LONGEST - 1) + "b"
    True
    """
    if len(name) <= _LONGEST:
        return name
    short = name[:_LONGEST].rstrip("\U0010ffff")
    if not short:  # only names that begin with it sort after it
        return name
    after = ord(short[-1]) + 1
    return short[:-1] + chr(0xE000 if 0xD800 <= after < 0xE000 else after)


def add_actions(files: Sequence[DataFile], data_change: bool = True) -> list[Any]:
    """The actions that add files to a table."""
    from deltalake.transaction import AddAction

    now = int(time.time() * 1000)
    # Not as ASCII: readers in Rust decode a pair of surrogates (\\ud842\\udfb7) to the wrong character.
    stats = [json.dumps(file.stats, ensure_ascii=False) for file in files]
    return [
        AddAction(file.path, file.size, {}, now, data_change, text)
        for file, text in zip(files, stats, strict=True)
    ]


def remove_actions(files: Sequence[DataFile], data_change: bool = True) -> list[Any]:
    """The actions that remove files from a table."""
    from deltalake.transaction import RemoveAction

    now = int(time.time() * 1000)
    return [RemoveAction(file.path, data_change, now, size=file.size, partition_values={}) for file in files]
