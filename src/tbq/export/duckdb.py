"""DuckDB databases, one table per Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.columns.rows import with_strings
from tbq.errors import OutputError
from tbq.export.options import distinct_columns

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from tbq.export.options import ExportOptions


def write_many(tables: dict[str, pa.Table], path: Path, _: ExportOptions) -> None:
    """Write each table under its name; dictionary strings become plain strings."""
    import duckdb

    try:
        with duckdb.connect(str(path), config={"autoinstall_known_extensions": "false"}) as base:
            for name, table in tables.items():
                base.register("arriving", _plain(distinct_columns(table, name, "DuckDB")))
                base.execute(f"create table {_quoted(name)} as select * from arriving")
                base.unregister("arriving")
    except duckdb.Error as failure:
        full = "No space left on device" in str(
            failure
        )  # DuckDB reports this although the file is already gone
        reason = "no space left on device" if full else str(failure)
        raise OutputError(f"DuckDB cannot write it: {reason}") from failure


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries as plain strings: DuckDB would make an enum of each, which cannot be joined with other tables."""
    return table.cast(with_strings(table.schema))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
