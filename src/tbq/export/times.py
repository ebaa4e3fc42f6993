"""Wall times as numbers, as dates, or as seconds since a run began."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.export.options import Time


def is_wall_time(name: str) -> bool:
    """Whether a column of this name holds seconds since 1970."""
    return name == "wall_time" or name.endswith("_wall_time")


def with_time(table: pa.Table, time: Time) -> pa.Table:
    """The table with its wall times as asked: `unix` seconds, `iso` timestamps (UTC), or `relative` seconds.

    Relative times count from the first wall time of the same run in this table.
    """
    import pyarrow as pa

    if time == "unix":
        return table
    for i, name in enumerate(table.column_names):
        if not is_wall_time(name) or not pa.types.is_floating(table.schema.types[i]):
            continue
        if time == "iso":
            table = table.set_column(i, name, timestamps(table.column(i)))
        elif name == "wall_time":
            table = table.set_column(i, name, _relative(table, i))
    return table


def timestamps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Seconds as UTC timestamps, to the microsecond; a time that no calendar holds is null."""
    import numpy as np
    import pyarrow as pa

    chunks = []
    for chunk in column.chunks:
        seconds = chunk.to_numpy(zero_copy_only=False)
        fits = np.abs(seconds) < 250_000_000_000  # nine thousand years: past that no library prints a date
        micros = np.rint(np.where(fits, seconds, 0) * 1e6).astype(np.int64)
        chunks.append(pa.array(micros, mask=~fits).cast(pa.timestamp("us", "UTC")))
    return pa.chunked_array(chunks, pa.timestamp("us", "UTC"))


def _relative(table: pa.Table, i: int) -> pa.ChunkedArray:
    import numpy as np
    import pyarrow as pa

    from tbq.table.codes import codes_of

    seconds = table.column(i).to_numpy()
    if "run" in table.column_names:
        codes, _ = codes_of(table.column("run"))
    else:
        codes = np.zeros(len(seconds), np.int32)
    first = np.full(int(codes.max(initial=-1)) + 1, np.inf)
    np.fmin.at(first, codes, seconds)
    return pa.chunked_array([seconds - first[codes]])
