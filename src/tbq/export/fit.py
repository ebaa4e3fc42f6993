"""Which columns of a table to write: the selected ones that the format can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tbq.arguments import bad
from tbq.arrow import Arrow, bytes_columns
from tbq.errors import OutputError, UsageError, warn
from tbq.select import closest_tip

#: The formats that cannot hold bytes.
WITHOUT_BYTES = ("csv", "tsv", "json", "jsonl", "xlsx")
_HOLDERS = "parquet, arrow, sqlite and duckdb keep them, `tbq media` writes images and other media as files"


def chosen(table: Arrow, columns: Sequence[str] | str | None) -> Arrow:
    """The table with only these columns, in this order.

    >>> import pyarrow as pa
    >>> chosen(pa.table({"run": ["a"], "step": [1], "value": [0.5]}), "step,run").column_names
    ['step', 'run']
    """
    if columns is None:
        return table
    spec: object = columns
    if not isinstance(spec, Iterable) or isinstance(spec, bytes):
        raise bad("columns", columns, "names of columns, as a list or separated by commas")
    known = table.column_names
    names: list[str] = (
        [str(columns)]
        if columns in known
        else columns.split(",")
        if isinstance(columns, str)
        else list(columns)
    )
    for name in names:
        if name not in known:
            tip = closest_tip(str(name), known)
            raise UsageError(f"columns: no column {name!r}{tip}", hint=f"columns: {', '.join(known)}")
    return table.select(list(dict.fromkeys(names)))


def refuse_bytes(binary: Sequence[str], format: str) -> None:
    """Raise if a format cannot hold these columns of bytes. Call it before writing, or even reading, anything."""
    if binary and format in WITHOUT_BYTES:
        name = "JSON" if format.startswith("json") else "a sheet" if format == "xlsx" else format.upper()
        raise OutputError(
            f"{name} cannot hold the bytes of column {binary[0]!r}",
            hint="write .parquet, .arrow, .sqlite or .duckdb, or leave bytes out: --drop-bytes (drop_bytes=True); "
            "`tbq media` writes images and other media as files",
        )


def that_fit(tables: Mapping[str, Arrow], format: str, quiet: bool = False) -> dict[str, Arrow]:
    """The tables without columns of bytes if the format cannot hold them; warns about these, unless `quiet`."""
    if format not in WITHOUT_BYTES:
        return dict(tables)
    binary = {name: bytes_columns(table) for name, table in tables.items()}
    listed = [f"{name}.{column}" for name, columns in binary.items() for column in columns]
    if listed and not quiet:
        verb = "is" if len(listed) == 1 else "are"
        warn(f"{format} cannot hold bytes: {', '.join(listed)} {verb} left out; {_HOLDERS}")
    return {
        name: table.drop_columns(binary[name]) if binary[name] else table for name, table in tables.items()
    }
