"""What a safe query may be, and the connection that it runs on: one statement that reads, and leaves nothing."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
from collections.abc import Sequence

import duckdb

from tbq.errors import QueryError
from tbq.query.sqltext import words

# What a safe connection may do. Of the first, an old DuckDB may lack some; the second are there in all.
_SETTINGS = (
    "set autoload_known_extensions = false",
    "set autoinstall_known_extensions = false",
    "set allow_community_extensions = false",
    "set python_enable_replacements = false",
    "set temp_directory = ''",
)
_PATHS = ("home_directory", "extension_directory", "secret_directory", "temp_directory")
_LOCKS = ("set enable_external_access = false", "set lock_configuration = true")

BEGIN = "begin transaction read only"
_QUERIES = ("SELECT", "RELATION")
_WRAPPING = ("EXPLAIN", "MULTI")  # may hold a query; the second is what PIVOT is to DuckDB
_HARMLESS = {"generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest"}
_READ_ONLY = "queries read the logdir alone; files, settings and extensions need unsafe=True, --unsafe"

#: By process, since a connection does not survive a fork, and by the limit of memory.
_safe: dict[tuple[int, str | None], duckdb.DuckDBPyConnection] = {}
_lock = threading.Lock()


def connect(unsafe: bool, memory: str | None = None) -> duckdb.DuckDBPyConnection:
    """A connection of its own for each query, on which nothing of another query is left.

    Safe ones share an empty, locked database, since one takes 12 ms to make. A query (see `statements_of`) changes no
    setting of it, and its transaction cannot write to it; what a connection has for itself, the tables of the log among
    it, ends with the connection. A query that may do more (see `alone`) gets a database of its own. All queries with
    the same limit of `memory` ("1GB") have that much together.
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
        # Who asks for limits answers somebody else, whom paths of this machine do not concern.
        for setting in _PATHS:
            with contextlib.suppress(duckdb.Error):
                base.execute(f"set {setting} = ''")
    for setting in _SETTINGS:
        try:
            base.execute(setting)
        except duckdb.CatalogException:
            continue
    for setting in _LOCKS:
        base.execute(setting)
    return base


def alone(
    connection: duckdb.DuckDBPyConnection, query: str, memory: str | None = None
) -> duckdb.DuckDBPyConnection:
    """The connection, or one to a database that only this query ever sees.

    DuckDB has table functions that change the database behind a mere select (`register_external_resource_type`), and
    each version adds some. So whatever calls one that is not known to be harmless, or cannot be judged, is alone.
    """
    if _is_plain(connection, query):
        return connection
    connection.close()
    return _locked(memory)


def _is_plain(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Whether a query calls no table function but harmless ones, as DuckDB parses it."""
    try:
        answer = connection.execute("select json_serialize_sql($query::varchar)", {"query": query}).fetchall()
        tree = json.loads(answer[0][0])
    except (duckdb.Error, ValueError, RecursionError):
        return False
    if tree.get("error", True):  # of PIVOT and EXPLAIN, which it does not take
        return False
    parts: list[object] = [tree]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts += part
        elif isinstance(part, dict):
            function = part.get("function")
            name = function.get("function_name") if isinstance(function, dict) else None
            if part.get("type") == "TABLE_FUNCTION" and name not in _HARMLESS:
                return False
            parts += part.values()
    return True


def statements_of(connection: duckdb.DuckDBPyConnection, query: str, unsafe: bool) -> list[duckdb.Statement]:
    """The statements of a query; without `unsafe` there is one, and it reads."""
    statements = list(connection.extract_statements(query))
    if not statements:
        raise QueryError("the query is empty", hint='e.g. "select * from scalars limit 10"')
    if unsafe or _is_query(connection, query, statements):
        return statements
    written = [statement for statement in statements if text_of(statement)]
    kinds = ", ".join(dict.fromkeys(map(_kind, written)))
    if len(written) > 1:
        what = f"this is {len(written)} statements ({kinds}), want one query"
    else:
        what = f"{kinds or 'this'} is not a query: only reading is allowed"
    raise QueryError(what, hint=_READ_ONLY, code="forbidden")


def text_of(statement: duckdb.Statement) -> str:
    """What was written of a statement: of those that PIVOT is to an older DuckDB, nothing."""
    try:
        return str(statement.query)
    except IndexError:  # of PIVOT after another statement
        return ""


def _kind(statement: duckdb.Statement) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # one that DuckDB's own Python part does not know
        return "this statement"


def _is_query(
    connection: duckdb.DuckDBPyConnection, query: str, statements: Sequence[duckdb.Statement]
) -> bool:
    """Whether a text is one query, or the explanation of one; DuckDB's parser says it."""
    kind = _kind(statements[0])
    if len(statements) == 1 and kind in _QUERIES:
        return True
    # To an older DuckDB PIVOT is several statements, of which some were never written.
    if not (len(statements) == 1 and kind in _WRAPPING) and all(map(text_of, statements)):
        return False
    tokens = words(query)
    while tokens and not tokens[-1].text.strip(";"):
        tokens.pop()
    starts = [0]
    if tokens and tokens[0].name == "explain":  # [analyze] and [(options)] stand before what is explained
        closing = [i for i, word in enumerate(tokens[:20]) if word.text == ")"]
        starts = [1, 2, *(i + 1 for i in closing[:1])]
    # What `exists` takes is a query, and nothing else.
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
