"""`log.sql`: queries over the tables of a log in DuckDB, which can reach nothing else."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import duckdb
import pyarrow as pa

from tbq import _core
from tbq.arguments import bad, keywords, mapping
from tbq.columns.codes import values_of
from tbq.columns.names import ignoring_case, numbered, renamed, say_renamed
from tbq.decode.options import READING, Reading
from tbq.decode.reader import names_of
from tbq.errors import QueryError, TbqError, warn
from tbq.kinds.overview import OVERVIEWS, overview
from tbq.query.dataset import LogDataset
from tbq.query.safe import BEGIN, alone, connect, statements_of, text_of
from tbq.query.scanning import Scan, Scanning
from tbq.query.sqlerrors import explain
from tbq.query.sqltext import Prepared, Word, missing_parameters, prepare, strings, words
from tbq.schema import KINDS, schema
from tbq.select import closest_tip
from tbq.summary.per_run import summary
from tbq.table import Table
from tbq.text import sql_name

if TYPE_CHECKING:
    from tbq.decode.reader import Reader

#: Tables derived from others; their columns are known once they are made.
DERIVED = ("wide", "summary")
TABLES = ("scalars", *(kind for kind in KINDS if kind in _core.tables() or kind in OVERVIEWS), *DERIVED)

#: Functions that read tables named in a string.
_BY_TEXT = ("query", "query_table")
_ODD = re.compile(r"\b(INTERVAL|BIT|UNION|BIGNUM|VARINT|TIMESTAMP_NS)\b")  # types that no output format holds


@dataclass(frozen=True)
class Limits:
    """Limits for the query of another user: rows of the result, and memory of DuckDB ("1GB").

    `on_connect` gets each connection before its use, so that another thread can call `interrupt`.
    `shown` converts paths in tables for display.
    """

    rows: int
    memory: str
    shown: Callable[[str], str]
    on_connect: Callable[[duckdb.DuckDBPyConnection], object]


def sql(
    reader: Reader,
    query: str,
    params: Mapping[str, Any] | None = None,
    *,
    unsafe: bool = False,
    on_scan: Callable[[Scan], object] | None = None,
    limits: Limits | None = None,
    **reading: Unpack[Reading],
) -> Table:
    """Run a query; reads only what it needs of the tables."""
    keywords("log.sql", reading, ("params", "unsafe", *READING))
    if not isinstance(query, str):
        raise bad("query", query, "a query as text")
    parameters = dict(mapping("params", params or {}, "{'tag': 'loss'}"))
    scans: list[Scan] = []

    def note(scan: Scan) -> None:
        scans.append(scan)
        if on_scan is not None:
            on_scan(scan)

    scanning = Scanning(**reading, later=True, on_scan=note, warned=reader.warned)
    memory = None if limits is None else limits.memory
    connection = connect(unsafe, memory)
    if limits is not None:
        limits.on_connect(connection)
    prepared = Prepared(query, {}, frozenset())
    tokens: list[Word] = []
    layouts = Layouts()
    try:
        tokens = words(query)
        scanning.limited = _limited(tokens)
        prepared = prepare(query, tokens, parameters)
        statements = statements_of(connection, prepared.text, unsafe)
        _check_parameters(statements, prepared, parameters, query)
        if not unsafe:
            connection = alone(connection, prepared.text, memory)
            if limits is not None:
                limits.on_connect(connection)
        _register(connection, reader, scanning, prepared, tokens, limits, layouts)
        if not unsafe:
            connection.execute(BEGIN)
        arrow = _run(
            connection, prepared.text, statements, parameters, None if limits is None else limits.rows
        )
    except duckdb.Error as error:
        if isinstance(scanning.failure, TbqError):
            raise scanning.failure from None
        located = _located(error, connection, prepared.text, parameters, unsafe)
        raise _explained(located, reader, tokens, prepared, layouts) from None
    finally:
        connection.close()
    scanning.tell()
    if any(word.name == "pivot" and not word.string for word in tokens):
        _warn_of_twins(reader)
    texts = [*strings(tokens), *(value for value in parameters.values() if isinstance(value, str))]
    _warn_of_nothing(scans, reader, texts)
    return Table(_plain(arrow), "query", logdir=reader.path, began=reader.began)


@dataclass
class Layouts:
    """The columns of `wide` and `summary`; `twins` were renamed because case does not count in SQL."""

    twins: dict[str, str] = dataclasses.field(default_factory=dict)
    columns: list[str] = dataclasses.field(default_factory=list)


def _check_parameters(
    statements: Sequence[duckdb.Statement], prepared: Prepared, parameters: Mapping[str, Any], query: str
) -> None:
    wanted = {name for statement in statements for name in statement.named_parameters}
    if any(name.isdigit() for name in wanted):
        raise QueryError("want named parameters: write $name, not ? or $1", code="parameter")
    missing = sorted(wanted - set(parameters))
    if missing:
        raise missing_parameters(missing, query)
    unknown = sorted(set(parameters) - wanted - prepared.used)
    if unknown:
        raise QueryError(
            f"the query has no ${unknown[0]}",
            hint=f"its parameters: {', '.join(f'${name}' for name in sorted(wanted | prepared.used)) or 'none'}",
            code="parameter",
        )


def _register(
    connection: duckdb.DuckDBPyConnection,
    reader: Reader,
    scanning: Scanning,
    prepared: Prepared,
    tokens: Sequence[Word],
    limits: Limits | None,
    layouts: Layouts,
) -> None:
    """Register the tables that the query names; all tables if it names none, such as `show tables`."""
    named = _tables(tokens)
    # A query without table names may list the tables, which needs no rows; unless a string names tables.
    listing = not named and not any(word.name in _BY_TEXT for word in tokens)
    for kind in named or TABLES:
        if kind in OVERVIEWS and limits is not None and listing:
            connection.register(kind, schema(kind).empty_table())
        elif kind in OVERVIEWS and limits is not None:
            connection.register(
                kind, _with_paths(LogDataset(reader, kind, scanning).to_table(), limits.shown)
            )
        elif kind in OVERVIEWS:
            connection.register(kind, LogDataset(reader, kind, scanning))
        elif kind not in DERIVED:
            extra = {
                name: how for name, how in prepared.extra.items() if how[0] != "ema" or kind == "scalars"
            }
            connection.register(kind, LogDataset(reader, kind, scanning, extra))
    if tokens[0].name == "show":  # names are enough; columns would require a read
        for kind in DERIVED:
            connection.register(kind, pa.table({"run": pa.array([], pa.string())}))
        return
    if "wide" in named:
        scalars = LogDataset(reader, "scalars", scanning).to_table()
        _register_layout(connection, "wide", Table(scalars).wide().to_arrow(), layouts)
    if "summary" in named:
        table = summary(
            reader,
            ("last", "min", "max"),
            media=False,
            restarts=scanning.restarts,
            threads=scanning.threads,
            on_error=scanning.on_error,
        )
        _register_layout(connection, "summary", table.to_arrow(), layouts)


def _with_paths(table: pa.Table, shown: Callable[[str], str]) -> pa.Table:
    """A table about the log with paths, and texts that may contain paths, converted by `shown`."""
    for i, field in enumerate(table.schema):
        if field.name in ("message", "hint") or field.name.endswith("path"):
            texts = [None if text is None else shown(text) for text in values_of(table.column(i))]
            table = table.set_column(i, field.name, pa.array(texts, pa.string()))
    return table


def _register_layout(
    connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table, layouts: Layouts
) -> None:
    names = ignoring_case(table.column_names, name)
    connection.register(name, table.rename_columns(names))
    changes = renamed(table.column_names, names)
    if changes:
        warn(f"{say_renamed(changes, f'{name}: SQL')}; the table scalars has every tag unchanged")
    layouts.twins |= changes
    layouts.columns += names


def _limited(tokens: Sequence[Word]) -> bool:
    """Whether the first rows may suffice. Either answer is correct; this one decides how much is decoded."""
    names = {word.name for word in tokens if not word.string}
    return "limit" in names and "order" not in names


def _tables(tokens: Sequence[Word]) -> list[str]:
    names = {word.name for word in tokens} | {text.lower() for text in strings(tokens)}
    return [table for table in TABLES if table in names]


def _run(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    statements: Sequence[duckdb.Statement],
    values: Mapping[str, Any],
    rows: int | None = None,
) -> pa.Table:
    def parameters(statement: duckdb.Statement) -> dict[str, Any] | None:
        return {name: values[name] for name in statement.named_parameters} or None

    *before, last = statements
    if all(map(text_of, statements)):
        for statement in before:
            connection.execute(text_of(statement), parameters(statement)).fetchall()
        result = connection.sql(text_of(last), params=parameters(last))
    else:  # the parts into which an older DuckDB splits PIVOT have no text
        result = connection.sql(text, params=dict(values) or None)
    if result is None:
        return pa.table({})
    readable = _with_texts(result)
    return (readable if rows is None else readable.limit(rows)).to_arrow_table()


def _with_texts(result: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The result with DuckDB's own types converted to text."""
    odd = [_ODD.search(str(kind)) is not None for kind in result.types]
    if not any(odd):
        return result
    quoted = [sql_name(name) for name in result.columns]
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
    parameters: Mapping[str, Any],
    unsafe: bool,
) -> duckdb.Error:
    """The error with its place in the query, which DuckDB reports only through another call."""
    if "\nLINE " not in str(error) and isinstance(error, duckdb.BinderException | duckdb.CatalogException):
        try:
            if not unsafe:
                connection.rollback()
                connection.execute(BEGIN)
            connection.execute(text, dict(parameters) or None)
        except (duckdb.BinderException, duckdb.CatalogException) as located:
            return located
        except duckdb.Error:
            return error
    return error


def _explained(
    error: Exception, reader: Reader, tokens: Sequence[Word], prepared: Prepared, layouts: Layouts
) -> QueryError:
    def columns() -> list[str]:
        kinds = [kind for kind in _tables(tokens) if kind not in DERIVED]
        names = [name for kind in kinds for name in [*schema(kind).names, *prepared.extra]]
        return list(dict.fromkeys([*names, *layouts.columns]))

    return explain(error, columns, TABLES, lambda: _known_tags(reader), layouts.twins, prepared.text)


def _known_tags(reader: Reader) -> list[str]:
    return names_of(overview(reader, "tags"))


def _warn_of_nothing(scans: Sequence[Scan], reader: Reader, texts: Sequence[str]) -> None:
    """Warn if a filter passes no tag or run: in SQL a misspelt name is not an error, only an empty result."""
    for scan in scans:
        if scan.runs == 0:
            what, known, others = "run", reader.names, _known_tags(reader)
        elif scan.tags and not any(scan.tags.values()):
            what, known, others = "tag", list(scan.tags), reader.names
        else:
            continue
        for text in texts:
            if text not in known and text not in others:  # the name of a run is not a misspelt tag
                tip = closest_tip(text, known)
                warn(f"no {what} is called {text!r}{tip}")


def _warn_of_twins(reader: Reader) -> None:
    """Warn that DuckDB's PIVOT, which makes its own columns of tags, silently numbers those that differ by case."""
    tags = _known_tags(reader)
    changes = renamed(tags, ignoring_case(tags))
    if changes:
        listed = ", ".join(map(repr, list(changes)[:6]))
        warn(
            f"PIVOT ignores case in names of columns, so it renames some of {listed}; "
            "the table scalars has every tag unchanged"
        )


def _plain(table: pa.Table) -> pa.Table:
    """The result in types that every format holds, with each computed column once."""
    fields = []
    for i, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            field = field.with_type(
                pa.int64() if field.type.scale == 0 and _fits(table.column(i)) else pa.float64()
            )
        elif pa.types.is_dictionary(field.type):
            field = field.with_type(field.type.value_type)
        fields.append(field)
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
