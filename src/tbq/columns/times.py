"""Wall times as numbers, as dates, or as seconds since a run began."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.arrow import Arrow

_CALENDAR = 250_000_000_000  # seconds, nearly eight thousand years: libraries print no later dates
_CYCLE = 146_097  # days, 400 years: after these, the calendar repeats

#: How wall times are written.
Time = Literal["unix", "iso", "relative"]


def is_wall_time(name: str) -> bool:
    """Whether a column of this name holds seconds since 1970."""
    return name == "wall_time" or name.endswith("_wall_time")


def with_time(table: Arrow, time: Time, began: Mapping[str, float] | None = None) -> Arrow:
    """The table with its wall times as `unix` seconds, `iso` timestamps (UTC), or `relative` seconds.

    Relative times count from the run's start in `began` (see `tbq.columns.relative`).
    """
    if time == "unix":
        return table
    import pyarrow as pa

    from tbq.arrow import to_pyarrow
    from tbq.columns.relative import relative_times, run_column

    table = to_pyarrow(table)
    for i, name in enumerate(table.column_names):
        if not is_wall_time(name) or not pa.types.is_floating(table.schema.types[i]):
            continue
        if time == "iso":
            column = timestamps(table.column(i))
        else:
            column = relative_times(table.column(i), run_column(table), began)
        table = table.set_column(i, name, column)
    return table


def date_text(seconds: float) -> str | None:
    """Seconds since 1970 as a date and time in UTC, to the second; None outside the calendar.

    >>> date_text(0.5)
    '1970-01-01 00:00:00'
    """
    if not abs(seconds) < _CALENDAR:
        return None
    days, within = divmod(round(seconds * 1e6) // 1_000_000, 86_400)
    cycles, days = divmod(days, _CYCLE)  # datetime has only the years 1 to 9999
    date = datetime(1970, 1, 1) + timedelta(days, within)
    year = date.year + 400 * cycles
    return f"{'-' if year < 0 else ''}{abs(year):04d}{date:-%m-%d %H:%M:%S}"


def timestamps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Seconds as UTC timestamps, to the microsecond; null outside the calendar."""
    import numpy as np
    import pyarrow as pa

    chunks = []
    for chunk in column.chunks:
        seconds = chunk.to_numpy(zero_copy_only=False)
        fits = np.abs(seconds) < _CALENDAR
        micros = np.rint(np.where(fits, seconds, 0) * 1e6).astype(np.int64)
        chunks.append(pa.array(micros, mask=~fits).cast(pa.timestamp("us", "UTC")))
    return pa.chunked_array(chunks, pa.timestamp("us", "UTC"))
