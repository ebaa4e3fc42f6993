"""The rules for safe queries, and their connection: one statement that only reads, and leaves nothing behind."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from tbq.errors import QueryError
from tbq.query.sqltext import words

# The restrictions of a safe connection.
_SETTINGS = (
    "set autoload_known_extensions = false",
    "set autoinstall_known_extensions = false",
    "set allow_community_extensions = false",
    "set python_enable_replacements = false",
    "set temp_directory = ''",
    "set enable_external_access = false",
    "set lock_configuration = true",
)
_PATHS = ("home_directory", "extension_directory", "secret_directory", "temp_directory")

BEGIN = "begin transaction read only"
_QUERIES = ("SELECT", "RELATION")
_WRAPPING = ("EXPLAIN", "MULTI")  # may contain a query; DuckDB's type for PIVOT is MULTI
_HARMLESS = {"generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest"}
_READ_ONLY = "queries only read the logdir; files, settings and extensions need unsafe=True, --unsafe"

#: By process, because a connection does not survive a fork, and by memory limit.
_safe: dict[tuple[int, str | None], duckdb.DuckDBPyConnection] = {}
_lock = threading.Lock()


def connect(unsafe: bool, memory: str | None = None) -> duckdb.DuckDBPyConnection:
    """A new connection for each query, without traces of other queries.

    Safe connections share an empty, locked database, because creating one takes 12 ms. A query (see `statements_of`)
    changes none of its settings, and its transaction cannot write to it. The connection's own objects, such as the
    log's tables, end with the connection. A query that may do more (see `alone`) gets its own database. All queries
    with the same `memory` limit ("1GB") share that memory.
    """
    if unsafe:
        return duckdb.connect()
    with _lock:
        base = _safe.get((os.getpid(), memory))
        if base is None:
            base = _safe[os.getpid(), memory] = _locked(memory)
            atexit.register(base.close)
        return base.cursor()


def _locked(memory: str | None = None) -> duckdb.DuckDBPyConnection:
    base = duckdb.connect()
    if memory is not None:
        base.execute(f"set memory_limit = '{memory}'")
        # Queries with limits come from other users, who must not see this machine's paths.
        for setting in _PATHS:
            with contextlib.suppress(duckdb.Error):
                base.execute(f"set {setting} = ''")
    for setting in _SETTINGS:
        base.execute(setting)
    return base


def alone(
    connection: duckdb.DuckDBPyConnection, query: str, memory: str | None = None
) -> duckdb.DuckDBPyConnection:
    """The connection, or a new one to a database that only this query uses.

    DuckDB has table functions that change the database from within a select (`register_external_resource_type`), and
    each version adds some. So a query that calls one not known to be harmless, or that cannot be judged, gets its own.
    """
    if _is_plain(connection, query):
        return connection
    connection.close()
    return _locked(memory)


def _is_plain(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Whether a query calls only harmless table functions, judged by DuckDB's parser."""
    try:
        tree = tree_of(connection, query)
    except (duckdb.Error, ValueError, RecursionError):
        return False
    if tree.get("error", True):  # for PIVOT and EXPLAIN, which it does not support
        return False
    for part in nodes(tree):
        function = part.get("function")
        name = function.get("function_name") if isinstance(function, dict) else None
        if part.get("type") == "TABLE_FUNCTION" and name not in _HARMLESS:
            return False
    return True


def tree_of(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    """A query as DuckDB parses it."""
    rows = connection.execute("select json_serialize_sql($query::varchar)", {"query": query}).fetchall()
    return dict(json.loads(rows[0][0]))


def nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Every object of a parsed query."""
    parts = [tree]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts += part
        elif isinstance(part, dict):
            yield part
            parts += part.values()


def statements_of(connection: duckdb.DuckDBPyConnection, query: str, unsafe: bool) -> list[duckdb.Statement]:
    """The statements of a query; without `unsafe`, exactly one that only reads."""
    statements = list(connection.extract_statements(query))
    if not statements:
        raise QueryError("the query is empty", hint='e.g. "select * from scalars limit 10"')
    if unsafe or _is_query(connection, query, statements):
        return statements
    written = [statement for statement in statements if text_of(statement)]
    kinds = ", ".join(dict.fromkeys(map(_kind, written)))
    if len(written) > 1:
        what = f"got {len(written)} statements ({kinds}), want one query"
    else:
        what = f"{kinds or 'this'} is not a query: only reading is allowed"
    raise QueryError(what, hint=_READ_ONLY, code="forbidden")


def text_of(statement: duckdb.Statement) -> str:
    """The text of a statement; empty for the parts into which an older DuckDB splits PIVOT."""
    try:
        return str(statement.query)
    except IndexError:  # for PIVOT after another statement
        return ""


def _kind(statement: duckdb.Statement) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # a type that DuckDB's Python package does not know
        return "this statement"


def _is_query(
    connection: duckdb.DuckDBPyConnection, query: str, statements: Sequence[duckdb.Statement]
) -> bool:
    """Whether a text is one query, or EXPLAIN of one, judged by DuckDB's parser."""
    kind = _kind(statements[0])
    if len(statements) == 1 and kind in _QUERIES:
        return True
    # An older DuckDB splits PIVOT into several statements, some without text.
    if not (len(statements) == 1 and kind in _WRAPPING) and all(map(text_of, statements)):
        return False
    tokens = words(query)
    while tokens and not tokens[-1].text.strip(";"):
        tokens.pop()
    starts = [0]
    if tokens and tokens[0].name == "explain":  # [analyze] and [(options)] precede the query
        closing = [i for i, word in enumerate(tokens[:20]) if word.text == ")"]
        starts = [1, 2, *(i + 1 for i in closing[:1])]
    # `exists` accepts a query and nothing else.
    return any(
        _can_be_parsed(connection, f"select exists (\n{query[tokens[start].start : tokens[-1].end]}\n)")
        for start in starts
        if start < len(tokens)
    )


def _can_be_parsed(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    try:
        return bool(connection.extract_statements(query))
    except duckdb.Error:
        return False
