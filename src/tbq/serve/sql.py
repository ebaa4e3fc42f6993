"""SQL on the log: reading alone, with limits of time, memory and rows; and the tables that can be asked."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from tbq.columns.codes import values_of
from tbq.decode.reader import Reader
from tbq.errors import QueryError, UsageError, collected_warnings
from tbq.query.sql import DERIVED, TABLES, Limits, sql
from tbq.schema import schema
from tbq.serve.params import BusyError, Params, TooMuchError
from tbq.serve.watchdog import MEMORY, SECONDS, Watchdog
from tbq.serve.wire import Answer, frame, json_answer, to_json
from tbq.text import is_text

if TYPE_CHECKING:
    from tbq.serve.state import LiveLog

MOST_ROWS = 10_000
MOST_BYTES = 64_000_000  # of a result; a page that gets more of them stands still
_AT_ONCE = 2  # queries; more wait
_LONGEST = 100_000  # characters of a query
_BYTES = 200  # of a cell of bytes, as text
_slots = threading.BoundedSemaphore(_AT_ONCE)


def run_query(log: LiveLog, query: Any, limit: Any, watchdog: Watchdog) -> Answer:
    """The result of a query as a frame."""
    if not isinstance(query, str) or len(query) > _LONGEST or not is_text(query):
        raise UsageError(f"query: want a text of at most {_LONGEST:,} characters")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_ROWS:
        raise UsageError(f"limit: want a whole number from 1 to {MOST_ROWS:,}")
    if not _slots.acquire(timeout=SECONDS):
        raise BusyError("too many queries are running", hint="try again in some seconds")
    began = time.perf_counter()
    try:
        with watchdog, collected_warnings() as said:
            limits = Limits(limit + 1, MEMORY, log.without_paths, watchdog.watch)
            table = sql(
                _reader(log),
                query,
                limits=limits,
                restarts=log.restarts,
                threads=log.threads,
                on_error="ignore",
            ).to_arrow()
    except (QueryError, duckdb.Error) as wrong:
        if watchdog.late:
            raise QueryError(
                f"the query was stopped after {SECONDS:g} s",
                hint="ask for less: a where clause, one run, one tag",
            ) from None
        if isinstance(wrong, QueryError):
            raise
        raise QueryError(str(wrong).split("\n", 1)[0]) from None
    finally:
        _slots.release()
    return _framed(table, limit, said, time.perf_counter() - began)


def _reader(log: LiveLog) -> Reader:
    """The files of the runs as they are now."""
    follower = log.follower
    found = replace(follower.discovery.found, runs=list(follower.store.runs), problems=[])
    if not found.runs:
        raise QueryError("there are no event files yet", hint="wait, or see the log directory")
    return Reader(found, follower.reader.unpacked)


def _framed(table: pa.Table, limit: int, said: list[str], seconds: float) -> Answer:
    more = len(table) > limit
    table = table.slice(0, limit)
    # Of bytes only their number is sent.
    size = sum(column.nbytes for column in table.columns if not _is_binary(column.type))
    if size > MOST_BYTES:
        raise TooMuchError(
            f"the result has {size:,} bytes, want at most {MOST_BYTES:,}",
            hint="ask for fewer rows or columns",
        )
    columns: dict[str, Any] = {}
    titles, types = [], []
    for place, field in enumerate(table.schema):
        titles.append(field.name)
        types.append(str(field.type))
        columns[str(place)] = _column(table.column(place))
    return frame(
        columns,
        names=titles,
        types=types,
        rows=len(table),
        more=more,
        warnings=said,
        seconds=round(seconds, 4),
    )


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _column(column: pa.ChunkedArray) -> Any:
    """Numbers as float64 with NaN for null, unless a whole number would not be exact; everything else as text."""
    kind = column.type
    if pa.types.is_floating(kind) and not column.null_count:
        return np.asarray(column.to_numpy(), np.float64)
    if pa.types.is_integer(kind) and not column.null_count:
        values = column.to_numpy()
        if not len(values) or (abs(int(values.min())) < 2**53 and abs(int(values.max())) < 2**53):
            return np.asarray(values, np.float64)
    try:
        return [_cell(value) for value in values_of(column)]
    except (ArithmeticError, ValueError):  # dates and times that Python does not have
        return [_odd_cell(value) for value in column]


def _odd_cell(value: pa.Scalar) -> Any:
    try:
        return _cell(value.as_py())
    except (ArithmeticError, ValueError):
        pass
    try:
        return _cell(value.cast(pa.string()).as_py())
    except (ArithmeticError, ValueError, NotImplementedError):
        return "(cannot be shown)"


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, bytes):
        return f"<{len(value):,} bytes>"
    if isinstance(value, float):
        return value if value == value else "nan"
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, list | dict):
        return to_json(value).decode()[:10_000]
    return str(value)


def tables(log: LiveLog, _params: Params) -> Answer:
    """The tables that a query can ask, and their columns."""
    listed = []
    for name in TABLES:
        if name in DERIVED:
            columns = [["run", "string"]]
        else:
            columns = [[field.name, _type(field.type)] for field in schema(name)]
        listed.append({"name": name, "columns": columns})
    with log.lock:
        tags = [tag for tag, kinds, _ in log.index.totals() if "scalars" in kinds][:200]
    wide = {"wide": [["run", "string"], ["step", "int64"], *([tag, "double"] for tag in tags)]}
    summary = {
        "summary": [
            ["run", "string"],
            *([f"{tag}{stat}", "double"] for tag in tags for stat in ("", ".min", ".max")),
        ]
    }
    for table in listed:
        table["columns"] = (wide | summary).get(str(table["name"]), table["columns"])
    return json_answer({"version": log.version, "tables": listed})


def _type(kind: pa.DataType) -> str:
    return str(kind.value_type) if pa.types.is_dictionary(kind) else str(kind)
