"""`log.sql`: queries over the tables of a logdir, on DuckDB, which can reach nothing else."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from tbq import _core
from tbq.errors import QueryError, TbqError, TbqWarning
from tbq.query.dataset import LogDataset
from tbq.query.reading import OVERVIEWS, Reading, Scan
from tbq.query.safe import BEGIN, alone, connect, statements_of, text_of
from tbq.query.sqlerrors import explain
from tbq.query.sqltext import Prepared, Word, missing_parameters, prepare, strings, words
from tbq.schema import KINDS, schema
from tbq.select import closest
from tbq.table import Table
from tbq.table.columns import ignoring_case, numbered, renamed, say_renamed

if TYPE_CHECKING:
    from tbq.logdir import LogDir

#: Tables made of others; the columns are known when they are made.
DERIVED = ("wide", "summary")
TABLES = ("scalars", *(kind for kind in KINDS if kind in _core.tables() or kind in OVERVIEWS), *DERIVED)

_ODD = re.compile(r"\b(INTERVAL|BIT|UNION|BIGNUM|VARINT|TIMESTAMP_NS)\b")  # types that no format holds


def sql(
    log: LogDir,
    query: str,
    params: Mapping[str, Any] | None = None,
    *,
    unsafe: bool = False,
    restarts: str = "resume",
    threads: int | None = None,
    on_error: str = "warn",
    on_scan: Callable[[Scan], object] | None = None,
) -> Table:
    """Run a query; the tables are read as far as it needs them."""
    given = dict(params or {})
    scans: list[Scan] = []

    def note(scan: Scan) -> None:
        scans.append(scan)
        if on_scan is not None:
            on_scan(scan)

    reading = Reading(restarts, threads, on_error, later=True, on_scan=note)
    connection = connect(unsafe)
    prepared = Prepared(query, {}, frozenset())
    found: list[Word] = []
    twins: dict[str, str] = {}
    try:
        found = words(query)
        reading.limited = _limited(found)
        prepared = prepare(query, found, given)
        statements = statements_of(connection, prepared.text, unsafe)
        _check_parameters(statements, prepared, given, query)
        if not unsafe:
            connection = alone(connection, prepared.text)
        twins = _register(connection, log, reading, prepared, found)
        if not unsafe:
            connection.execute(BEGIN)
        arrow = _run(connection, prepared.text, statements, given)
    except duckdb.Error as error:
        if isinstance(reading.failure, TbqError):
            raise reading.failure from None
        located = _located(error, connection, prepared.text, given, unsafe)
        raise _explained(located, log, found, prepared, twins) from None
    finally:
        connection.close()
    reading.tell()
    if any(word.name == "pivot" and not word.string for word in found):
        _tell_of_twins(log)
    _tell_of_nothing(scans, log, [*strings(found), *(one for one in given.values() if isinstance(one, str))])
    return Table(_plain(arrow), "query", logdir=log.path, began=log._began)


def _check_parameters(
    statements: Sequence[duckdb.Statement], prepared: Prepared, given: Mapping[str, Any], query: str
) -> None:
    wanted = {name for statement in statements for name in statement.named_parameters}
    if any(name.isdigit() for name in wanted):
        raise QueryError("parameters have names here: write $name, not ? or $1", code="parameter")
    missing = sorted(wanted - set(given))
    if missing:
        raise missing_parameters(missing, query)
    unknown = sorted(set(given) - wanted - prepared.used)
    if unknown:
        raise QueryError(
            f"the query has no ${unknown[0]}",
            hint=f"its parameters: {', '.join(f'${name}' for name in sorted(wanted | prepared.used)) or 'none'}",
            code="parameter",
        )


def _register(
    connection: duckdb.DuckDBPyConnection,
    log: LogDir,
    reading: Reading,
    prepared: Prepared,
    found: Sequence[Word],
) -> dict[str, str]:
    """Make the tables known that the query names; all, for one that names none, such as `show tables`.

    Gives the columns of `wide` and `summary` that could not have their names, since case does not count in SQL.
    """
    named = _tables(found)
    for kind in named or TABLES:
        if kind in OVERVIEWS:
            connection.register(kind, LogDataset(log, kind, reading))
        elif kind not in DERIVED:
            extra = {
                name: how for name, how in prepared.extra.items() if how[0] != "ema" or kind == "scalars"
            }
            connection.register(kind, LogDataset(log, kind, reading, extra))
    if found[0].name == "show":  # their names are enough, their columns would cost a reading
        for kind in DERIVED:
            connection.register(kind, pa.table({"run": pa.array([], pa.string())}))
        return {}
    twins: dict[str, str] = {}
    if "wide" in named:
        scalars = LogDataset(log, "scalars", reading).to_table()
        twins |= _register_layout(connection, "wide", Table(scalars).wide().to_arrow())
    if "summary" in named:
        how: dict[str, Any] = {"restarts": reading.restarts, "threads": reading.threads}
        made = log.summary(("last", "min", "max"), media=False, on_error=reading.on_error, **how)
        twins |= _register_layout(connection, "summary", made.to_arrow())
    return twins


def _register_layout(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> dict[str, str]:
    names = ignoring_case(table.column_names, name)
    connection.register(name, table.rename_columns(names))
    changes = renamed(table.column_names, names)
    if changes:
        words = say_renamed(changes, f"{name}: SQL")
        warnings.warn(f"{words}; the table scalars has every tag as it is", TbqWarning, stacklevel=5)
    return changes


def _limited(found: Sequence[Word]) -> bool:
    """Whether the first rows that come may be enough; any answer is right, this one decides what is decoded."""
    names = {word.name for word in found if not word.string}
    return "limit" in names and "order" not in names


def _tables(found: Sequence[Word]) -> list[str]:
    names = {word.name for word in found} | {text.lower() for text in strings(found)}
    return [table for table in TABLES if table in names]


def _run(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    statements: Sequence[duckdb.Statement],
    given: Mapping[str, Any],
) -> pa.Table:
    def parameters(statement: duckdb.Statement) -> dict[str, Any] | None:
        return {name: given[name] for name in statement.named_parameters} or None

    *before, last = statements
    if all(map(text_of, statements)):
        for statement in before:
            connection.execute(text_of(statement), parameters(statement)).fetchall()
        result = connection.sql(text_of(last), params=parameters(last))
    else:  # the parts that an older DuckDB makes of PIVOT have no text of their own
        result = connection.sql(text, params=dict(given) or None)
    return pa.table({}) if result is None else _with_texts(result).to_arrow_table()


def _with_texts(result: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The result with types that only DuckDB knows as their text."""
    odd = [_ODD.search(str(kind)) is not None for kind in result.types]
    if not any(odd):
        return result
    quoted = ['"' + name.replace('"', '""') + '"' for name in result.columns]
    return result.project(
        ", ".join(
            f"#{i}::varchar as {name}" if text else f"#{i} as {name}"
            for i, (name, text) in enumerate(zip(quoted, odd, strict=True), 1)
        )
    )


def _located(
    error: duckdb.Error,
    connection: duckdb.DuckDBPyConnection,
    text: str,
    given: Mapping[str, Any],
    unsafe: bool,
) -> duckdb.Error:
    """The error with its place in the query, which DuckDB tells only when it is asked another way."""
    if "\nLINE " not in str(error) and isinstance(error, duckdb.BinderException | duckdb.CatalogException):
        try:
            if not unsafe:
                connection.rollback()
                connection.execute(BEGIN)
            connection.execute(text, dict(given) or None)
        except (duckdb.BinderException, duckdb.CatalogException) as again:
            return again
        except duckdb.Error:
            return error
    return error


def _explained(
    error: Exception, log: LogDir, found: Sequence[Word], prepared: Prepared, twins: Mapping[str, str]
) -> QueryError:
    def columns() -> list[str]:
        kinds = [kind for kind in _tables(found) if kind not in DERIVED]
        return list(dict.fromkeys(name for kind in kinds for name in [*schema(kind).names, *prepared.extra]))

    return explain(error, columns, TABLES, lambda: _known_tags(log), twins)


def _known_tags(log: LogDir) -> list[str]:
    return [str(tag) for tag in log.tags().to_arrow()["tag"].unique().to_pylist()]


def _tell_of_nothing(scans: Sequence[Scan], log: LogDir, texts: Sequence[str]) -> None:
    """A name that was misspelt is no error in SQL, only no rows: warn where a filter lets no tag or run through."""
    for scan in scans:
        if scan.runs == 0:
            what, known, others = "run", log.runs, _known_tags(log)
        elif scan.tags and not any(scan.tags.values()):
            what, known, others = "tag", list(scan.tags), log.runs
        else:
            continue
        for text in texts:
            if text not in known and text not in others:  # a run's name is no misspelt tag
                near = closest(text, known)
                tip = f"; closest: {', '.join(near)}" if near else ""
                warnings.warn(f"no {what} is called {text!r}{tip}", TbqWarning, stacklevel=4)


def _tell_of_twins(log: LogDir) -> None:
    """DuckDB's PIVOT makes columns of tags itself, and numbers those that differ by case alone without a word."""
    tags = _known_tags(log)
    changes = renamed(tags, ignoring_case(tags))
    if changes:
        listed = ", ".join(map(repr, list(changes)[:6]))
        warnings.warn(
            f"PIVOT ignores case in names of columns, so not all of {listed} have their names; "
            "the table scalars has every tag as it is",
            TbqWarning,
            stacklevel=4,
        )


def _plain(table: pa.Table) -> pa.Table:
    """The result in types that every format holds, and each computed column once."""
    fields = []
    for i, one in enumerate(table.schema):
        if pa.types.is_decimal(one.type):
            one = one.with_type(
                pa.int64() if one.type.scale == 0 and _fits(table.column(i)) else pa.float64()
            )
        elif pa.types.is_dictionary(one.type):
            one = one.with_type(one.type.value_type)
        fields.append(one)
    table = table.cast(pa.schema(fields))
    names = table.column_names
    last = {name: i for i, name in enumerate(names)}
    keep = [i for i, name in enumerate(names) if last[name] == i or not name.startswith("ema(")]
    table = table.select(keep)
    return table.rename_columns(numbered(table.column_names))


def _fits(column: pa.ChunkedArray) -> bool:
    try:
        column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True
