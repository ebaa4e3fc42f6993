"""SQLite databases, one table per Arrow table; lists become JSON text, and NaN becomes NULL, as SQLite has no NaN."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.errors import OutputError
from tbq.export.options import distinct_columns
from tbq.export.rows import iso, json_text
from tbq.export.target import disk_full
from tbq.text import sql_name

if TYPE_CHECKING:
    from pathlib import Path

    from tbq.export.options import ExportOptions


def write_many(tables: dict[str, pa.Table], path: Path, options: ExportOptions) -> None:
    """Write each table under its name, with an index on run and tag if it has both."""
    try:
        with closing(sqlite3.connect(path)) as base, base:
            # The file is renamed only when complete, so a journal would protect nothing.
            base.execute("pragma journal_mode = off")
            base.execute("pragma synchronous = off")
            for name, table in tables.items():
                _write_one(base, name, table, options)
    except sqlite3.Error as failure:
        if "disk is full" in str(failure):
            raise disk_full() from failure
        hint = (
            "SQLite holds 2,000 columns: use --layout long, or parquet" if "columns" in str(failure) else None
        )
        raise OutputError(f"SQLite cannot write it: {failure}", hint=hint) from failure
    except OverflowError as failure:
        raise OutputError(
            "SQLite cannot hold integers of 2^63 and above", hint="write .parquet or .duckdb"
        ) from failure


def _write_one(base: sqlite3.Connection, name: str, table: pa.Table, options: ExportOptions) -> None:
    table = distinct_columns(table, name, "SQLite")
    names = table.column_names
    columns = ", ".join(
        f"{_quoted(column)} {_type(field.type)}" for column, field in zip(names, table.schema, strict=True)
    )
    base.execute(f"create table {_quoted(name)} ({columns})")
    insert = f"insert into {_quoted(name)} values ({', '.join('?' * table.num_columns)})"
    for batch in table.to_batches(max_chunksize=1 << 14):
        base.executemany(insert, zip(*(_values(column, options) for column in batch.columns), strict=True))
    if {"run", "tag"} <= set(names):
        base.execute(f"create index {_quoted(f'{name}_run_tag')} on {_quoted(name)} (run, tag)")


def _quoted(name: str) -> str:
    return sql_name(name).replace("\0", "\ufffd")


def _type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "real"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "blob"
    return "text"


def _values(column: pa.Array, options: ExportOptions) -> list[Any]:
    from tbq.columns.codes import values_of

    if pa.types.is_timestamp(column.type):
        column = iso(column)
    values = values_of(column)
    if pa.types.is_nested(column.type):
        return [None if value is None else json_text(value, options) for value in values]
    plain = (int, float, str, bytes, type(None))
    return [value if isinstance(value, plain) else str(value) for value in values]
