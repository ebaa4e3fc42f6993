"""The options of a writer, and what it knows of the table's origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from tbq.arguments import choice, whole
from tbq.columns.times import Time
from tbq.errors import warn
from tbq.text import shown_path

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.storage import Storage

JsonNan = Literal["null", "string"]


class Writing(TypedDict, total=False):
    """The keywords of every function that writes a table; `tbq.export.write` explains them."""

    format: str | None
    force: bool
    time: Time
    csv_safe: bool
    json_nan: JsonNan
    columns: Sequence[str] | str | None
    drop_bytes: bool
    digits: int | None
    storage: Storage | None


#: The names of these keywords.
WRITING = tuple(Writing.__annotations__)


@dataclass(frozen=True, eq=False)
class ExportOptions:
    """`time`: how to write wall times. `csv_safe`: no cell that a spreadsheet runs. `json_nan`: NaN in JSON.
    `columns`: the columns to write. `drop_bytes`: leave out columns of bytes. `digits`: significant digits of numbers
    in formats for people (Markdown, HTML).

    `format`, `kind`, `logdir` and `began` describe the table and its origin.
    """

    time: Time = "unix"
    csv_safe: bool = False
    json_nan: JsonNan = "null"
    columns: Sequence[str] | str | None = None
    drop_bytes: bool = False
    digits: int | None = None
    format: str = "csv"
    kind: str = "table"
    logdir: str | None = None
    began: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        choice("time", self.time, get_args(Time))
        choice("json_nan", self.json_nan, get_args(JsonNan))
        if self.digits is not None:
            whole("digits", self.digits, least=1)


def distinct_columns(table: pa.Table, kind: str, where: str) -> pa.Table:
    """The table for a database that treats `Loss` and `loss` as one column; warns about renamed columns."""
    from tbq.columns.names import ignoring_case, renamed, say_renamed

    names = ignoring_case(table.column_names, kind)
    changes = renamed(table.column_names, names)
    if not changes:
        return table
    warn(say_renamed(changes, where))
    return table.rename_columns(names)


def with_origin(table: pa.Table, options: ExportOptions) -> pa.Table:
    """The table with its origin in the schema's metadata."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **origin(options, table)})


def origin(options: ExportOptions, table: pa.Table | None = None) -> dict[str, str]:
    """The metadata of a table: `tbq.version`, `tbq.kind`, `tbq.logdir`, and the start of its runs as `tbq.began`."""
    from tbq import __version__
    from tbq.columns.relative import run_column

    metadata = {"tbq.version": __version__, "tbq.kind": options.kind}
    if options.logdir is not None:
        metadata["tbq.logdir"] = shown_path(options.logdir)
    if table is not None and "wall_time" in table.column_names:
        column = run_column(table)
        metadata |= beginnings(options, [] if column is None else column.unique().to_pylist())
    return metadata


def beginnings(options: ExportOptions, runs: Iterable[str]) -> dict[str, str]:
    """The metadata with the start of these runs; empty if unknown, or if times are not written as unix seconds."""
    if not options.began or options.time != "unix":
        return {}
    import json

    return {"tbq.began": json.dumps({run: options.began[run] for run in runs if run in options.began})}
