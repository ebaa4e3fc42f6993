"""The calls of the other process: queries over the log, filters over the table of runs, the doctor."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tbq.columns.codes import values_of
from tbq.decode.reader import Reader
from tbq.errors import QueryError, collected_warnings
from tbq.query.condition import check
from tbq.query.safe import BEGIN, connect
from tbq.query.sql import TABLES, Limits, sql
from tbq.query.sqltext import words
from tbq.server.answers.points import csv_text
from tbq.server.hidden_paths import without_paths
from tbq.server.http.encoding import beginning, frame, is_exact, to_json
from tbq.server.http.params import TooMuchError
from tbq.server.sql.watchdog import Interrupter
from tbq.server.sql.worker_pool import late, too_much
from tbq.source.inflate import Unpacked
from tbq.source.origin import stands_for

MEMORY = "1GB"  # DuckDB's limit
MOST_BYTES = 64_000_000  # of a result; more would block the page
#: DuckDB's messages. They are not shown, because they recommend settings that a query cannot change.
_NO_MEMORY = re.compile(r"(?i)(failed to|could not) allocate|bad allocation|allocation failure|out of memory")
_unpacked: dict[Any, Unpacked] = {}  # by the limit: files are unpacked once


def run(message: dict[str, Any], watchdog: Interrupter) -> bytes:
    """The result of a query as a frame, or as CSV."""
    began = time.perf_counter()
    for path, url in message["origins"].items():
        stands_for(path, url)
    limit = message["limit"]
    shown = partial(without_paths, places=message["places"])
    try:
        with collected_warnings() as said:
            table = sql(
                Reader(message["found"], _unpacking(message)),
                message["query"],
                limits=Limits(limit + 1, MEMORY, shown, watchdog.watch),
                restarts=message["restarts"],
                threads=message["threads"],
                on_error="ignore",
            ).to_arrow()
    except (QueryError, duckdb.Error) as wrong:
        if watchdog.late:
            raise late(message["seconds"]) from None
        if _NO_MEMORY.search(str(wrong)):
            raise too_much() from None
        if isinstance(wrong, QueryError):
            raise
        raise QueryError(str(wrong).split("\n", 1)[0]) from None
    if message["csv"]:
        return csv_text(_without_bytes(table.slice(0, limit)))
    return _framed(table, limit, said, time.perf_counter() - began)


def names_of(message: dict[str, Any], _watchdog: Interrupter) -> bytes:
    """The words of an expression that may be names of columns: quoted names, and everything that is not a string."""
    try:
        tokens = words(message["where"])
    except (duckdb.Error, UnicodeError):  # the parser will report it
        return to_json([])
    names = {word.text[1:-1].replace('""', '"') for word in tokens if word.text.startswith('"')}
    return to_json(sorted(names | {word.text for word in tokens if not word.string}))


def matching(message: dict[str, Any], watchdog: Interrupter) -> bytes:
    """The rows for which an expression is true, or why it cannot be evaluated."""
    table = pa.ipc.open_stream(message["table"]).read_all()
    where = message["where"]
    connection = connect(unsafe=False, memory=MEMORY)
    word = False
    try:
        watchdog.watch(connection)
        word = check(connection, where)
        connection.register("runs", table)
        connection.execute(BEGIN)
        types = {
            kind for _, kind, *_ in connection.execute(f"describe select (\n{where}\n) from runs").fetchall()
        }
        if types != {"BOOLEAN"}:
            return to_json({"failed": "this is a value, not a condition", "word": word})
        rows, unknown = (
            connection.execute(f'select "#row" from runs where (\n{where}\n){end}').to_arrow_table()["#row"]
            for end in ("", " is null")
        )
    except duckdb.InterruptException:
        raise QueryError("the filter takes too long") from None
    except QueryError as wrong:
        return to_json({"failed": wrong.message, "hint": wrong.hint, "word": word})
    except duckdb.Error as wrong:
        return to_json({"failed": str(wrong), "word": word})
    finally:
        connection.close()
    return to_json({"rows": sorted(values_of(rows)), "unknown": len(unknown)})


def tables(_message: dict[str, Any], _watchdog: Interrupter) -> bytes:
    """The names of the tables."""
    return to_json(list(TABLES))


def examine(message: dict[str, Any], _watchdog: Interrupter) -> bytes:
    """The doctor's findings."""
    from tbq.server.answers.health import findings_of

    # As ASCII, which keeps paths of any bytes exact.
    return json.dumps([asdict(each) for each in findings_of(message["asked"])]).encode()


def findings(message: dict[str, Any], _watchdog: Interrupter) -> bytes:
    """The doctor's findings about one run."""
    from tbq.diagnosis import findings_of_run

    for path, url in message["origins"].items():
        stands_for(path, url)
    with collected_warnings():
        found = findings_of_run(message["found"], message["run"], _unpacking(message), message["threads"])
    return json.dumps([asdict(each) for each in found]).encode()


def _unpacking(message: dict[str, Any]) -> Unpacked:
    most = message["max_unpacked"]
    if most not in _unpacked:
        _unpacked[most] = Unpacked(most)
    return _unpacked[most]


CALLS: dict[str, Callable[[dict[str, Any], Interrupter], bytes]] = {
    "run": run, "names": names_of, "matching": matching, "tables": tables, "examine": examine,
    "findings": findings,
}  # fmt: skip


def _framed(table: pa.Table, limit: int, said: list[str], seconds: float) -> bytes:
    more = len(table) > limit
    table = table.slice(0, limit)
    # For binary values, only the number of bytes is sent.
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
    ).body


def _without_bytes(table: pa.Table) -> pa.Table:
    """Columns of bytes as texts that say how many, as the page shows them."""
    for place, field in enumerate(table.schema):
        if _is_binary(field.type):
            column = pa.array(_column(table.column(place)), pa.string())
            table = table.set_column(place, pa.field(field.name, pa.string()), column)
    return table


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _column(column: pa.ChunkedArray) -> Any:
    """Numbers without nulls as float64 if that is exact; everything else as a list of cells."""
    kind = column.type
    if pa.types.is_floating(kind) and not column.null_count:
        return np.asarray(column.to_numpy(), np.float64)
    if pa.types.is_integer(kind) and not column.null_count:
        values = column.to_numpy()
        if not len(values) or (is_exact(int(values.min())) and is_exact(int(values.max()))):
            return np.asarray(values, np.float64)
    try:
        return [_cell(value) for value in values_of(column)]
    except (ArithmeticError, ValueError):  # dates and times outside Python's range
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
        return value if math.isfinite(value) else str(value)  # JSON has no nan and inf
    if isinstance(value, int):
        return value if is_exact(value) else str(value)
    if isinstance(value, list | dict):
        return beginning(to_json(_spelled(value)).decode(), 10_000)
    return str(value)


def _spelled(value: Any) -> Any:
    """A list or a struct with nan and inf as words; JSON would turn them into nulls."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _spelled(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(each) for each in value]
    return value
