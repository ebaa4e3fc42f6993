"""SQLite databases of trackers: opened read-only while others write, and which of their runs changed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.interface import Log, ReplacedError, Stamp, stamp_of_files
from tbq.text import counted

_HEAD = b"SQLite format 3\0"
_PATIENCE = 2.0  # seconds to wait for a writer that holds the database
_ROW_BYTES = 64  # about what one value takes

#: Table → the columns that are read.
Schema = Mapping[str, tuple[str, ...]]
#: For each run: the last row of each table, and how many rows it has.
Rows = dict[str, list[int]]


@contextlib.contextmanager
def database(path: str) -> Iterator[sqlite3.Connection]:
    """A read transaction: it neither blocks writers nor sees half of what they write.

    A database in WAL mode that nobody has open is read without the files that SQLite would leave beside it. If a writer
    comes meanwhile, ReplacedError is raised.
    """
    at_rest = _is_at_rest(path)
    before = stamp_of_files(path, path + "-wal")
    try:
        uri = f"{Path(path).absolute().as_uri()}?mode=ro{'&immutable=1' if at_rest else ''}"
        connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("pragma query_only=on")
            connection.execute("pragma trusted_schema=off")
            connection.execute("begin")
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as failure:
        if at_rest and stamp_of_files(path, path + "-wal") != before:
            raise ReplacedError from None
        raise _refused(path, failure) from None
    if at_rest and stamp_of_files(path, path + "-wal") != before:
        raise ReplacedError


def release(connection: sqlite3.Connection) -> None:
    """Begin another transaction: a writer of a database that is not in WAL mode waits for the end of each."""
    connection.execute("commit")
    connection.execute("begin")


def bad_rows(count: int, path: str) -> list[Problem]:
    """The problem of rows with values of wrong types."""
    if not count:
        return []
    message = f"{counted(count, 'row')} of metrics cannot be read: a value has the wrong type"
    return [Problem("bad_rows", "error", message, path=path)]


def _is_at_rest(path: str) -> bool:
    """Whether a database in WAL mode has no log of changes: its last user closed it."""
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return False
    return head[18:20] == b"\2\2" and not os.path.lexists(path + "-wal")


def _refused(path: str, failure: sqlite3.Error) -> SourceError:
    reason = str(failure)
    if "locked" in reason or "busy" in reason:
        return SourceError(
            "is locked by another program",
            path=path,
            hint="tbq reads it once that program is done",
            code="locked",
        )
    hint = "copy it again, together with the file -wal beside it, or restore it: sqlite3 FILE .recover"
    return SourceError(f"is a database that cannot be read: {reason}", path=path, hint=hint, code="database")


def is_database(path: str) -> bool:
    """Whether a file begins like a database of SQLite."""
    with open(path, "rb") as file:
        return file.read(len(_HEAD)) == _HEAD


def tables(connection: sqlite3.Connection) -> set[str]:
    """The tables of a database. A view or a virtual table may run anything, so they do not count."""
    rows = connection.execute("select name, sql from sqlite_master where type = 'table'")
    return {name for name, sql in rows if sql and not sql.lstrip().upper().startswith("CREATE VIRTUAL")}


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table."""
    return [name for _, name, *_ in connection.execute(f'pragma table_info("{table}")')]


def require(connection: sqlite3.Connection, path: str, writer: str, schema: Schema) -> None:
    """Raise if a table lacks a column: this version of the writer is not one that tbq knows."""
    for table, wanted in schema.items():
        missing = sorted(set(wanted) - set(columns(connection, table)))
        if missing:
            raise SourceError(
                f"is a database of {writer} with a schema that tbq does not know: table {table!r} has no column "
                f"{missing[0]!r}",
                path=path,
                hint="update tbq, or report the version of the writer: tbq --version",
                code="database",
            )


class Growth:
    """Which runs of a database have new rows. It reads only the rows since the last call."""

    def __init__(self, run: Mapping[str, tuple[str, str]], state: str) -> None:
        #: table → its columns with the run and with increasing numbers
        self._run = run
        self._state = state  # query: run, and everything that may change besides rows
        self._known: dict[str, tuple[Stamp, dict[str, int], Rows, dict[str, int]]] = {}
        self._lock = threading.Lock()

    def stamp(self, log: Log) -> Stamp | None:
        """The stamp of one run: it stays the same while other runs grow."""
        stamp = stamp_of_files(log.path, log.path + "-wal")
        if stamp is None:
            return None
        with self._lock:
            try:
                rows, states = self._rows(log.path, stamp)
            except (SourceError, ReplacedError):  # the reader of the run reports it
                return stamp
        own = rows.get(log.key)
        if own is None and log.key not in states:
            return None
        count = sum(own[1::2]) if own is not None else 0
        return (
            _ROW_BYTES * (count + 1),
            stamp[1],
            (*(own or ()), states.get(log.key, 0), os.stat(log.path).st_ino),
        )

    def _rows(self, path: str, stamp: Stamp) -> tuple[Rows, dict[str, int]]:
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[2], known[3]
        last, rows = (known[1], known[2]) if known is not None else (dict.fromkeys(self._run, 0), {})
        with database(path) as connection:
            for place, (table, (run, number)) in enumerate(self._run.items()):
                newest = connection.execute(f"select max({number}) from {table}").fetchone()[0] or 0
                if known is not None and newest < last[table]:  # rows were deleted, or numbered anew
                    self._known.pop(path, None)
                    return self._rows(path, stamp)
                query = (
                    f"select {run}, max({number}), count(*) from {table} where {number} > ? group by {run}"
                )
                for name, latest, count in connection.execute(query, (last[table],)):
                    own = rows.setdefault(name, [0] * (2 * len(self._run)))
                    own[2 * place] = latest
                    own[2 * place + 1] += count
                last[table] = newest
            states: dict[str, int] = {}
            for name, *rest in connection.execute(self._state):
                states[name] = states.get(name, 0) ^ _number_of(rest)
        self._known[path] = stamp, last, rows, states
        return rows, states


def _number_of(row: list[object]) -> int:
    import zlib

    return zlib.crc32(repr(row).encode("utf-8", "replace"))
