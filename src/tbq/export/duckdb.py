"""DuckDB databases, one table per Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.columns.rows import with_strings
from tbq.errors import OutputError
from tbq.export.options import distinct_columns
from tbq.export.target import disk_full
from tbq.text import sql_name

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
                table = distinct_columns(table, name, "DuckDB")
                # DuckDB would make an enum of each dictionary, which cannot be joined with other tables.
                base.register("arriving", table.cast(with_strings(table.schema)))
                base.execute(f"create table {sql_name(name)} as select * from arriving")
                base.unregister("arriving")
    except duckdb.Error as failure:
        # DuckDB reports this although the file is already gone.
        if "No space left on device" in str(failure):
            raise disk_full() from failure
        raise OutputError(f"DuckDB cannot write it: {failure}") from failure
