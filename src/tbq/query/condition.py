"""A condition in SQL: one expression that is true or false for each row, without side effects."""

from __future__ import annotations

from typing import Any

import duckdb

from tbq.errors import QueryError
from tbq.query.safe import nodes, tree_of

_AROUND = "select * from runs where "
_ADVICE = "a filter is one condition; the SQL page takes queries"
_known: frozenset[str] | None = None


def check(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Raise a `QueryError` unless DuckDB parses the text as a condition; returns whether it is a single word or number.

    A condition contains no query, because table functions can change their database, and calls no volatile function:
    some of those leave something behind (`setseed`, `write_log`).
    """
    around, tree = _parsed(connection, "true"), _parsed(connection, text)
    condition = tree.pop("where_clause", None)
    around.pop("where_clause", None)
    if condition is None or tree != around:  # it continues with `order by`, `union`, …
        raise QueryError("want one condition, got more", hint=_ADVICE)
    volatile = _volatile(connection)
    for part in nodes(condition):
        kind, name = part.get("class"), str(part.get("function_name", "")).lower()
        if kind == "SUBQUERY":
            raise QueryError("a filter cannot contain a query", hint=f"{_ADVICE}; of a list: in (1, 2)")
        if kind == "PARAMETER":
            raise QueryError("a filter cannot have parameters", hint=_ADVICE)
        if kind == "FUNCTION" and name in volatile:
            raise QueryError(f"a filter cannot call {name}()", hint="its result must depend on the row alone")
    return condition.get("class") in ("COLUMN_REF", "CONSTANT", "STAR")


def _parsed(connection: duckdb.DuckDBPyConnection, text: str) -> dict[str, Any]:
    """The only statement of a query with this condition, as DuckDB parses it."""
    query = f"{_AROUND}\n{text}\n"
    try:
        tree = tree_of(connection, query)
    except (duckdb.Error, ValueError, RecursionError) as wrong:
        raise QueryError("cannot parse this", hint=str(wrong).split("\n", 1)[0]) from None
    if tree.get("error", True):
        raise QueryError(str(tree.get("error_message") or "cannot parse this").split("\n", 1)[0])
    statements = tree["statements"]
    if len(statements) != 1:
        raise QueryError(f"got {len(statements)} statements, want one condition", hint=_ADVICE)
    node: dict[str, Any] = statements[0]["node"]
    return node


def _volatile(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """The functions whose result does not depend on their arguments alone; cached, because the query takes 40 ms."""
    global _known
    if _known is None:
        query = "select distinct lower(function_name) from duckdb_functions() where stability = 'VOLATILE'"
        _known = frozenset(name for (name,) in connection.execute(query).fetchall())
    return _known
