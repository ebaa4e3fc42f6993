"""Writes a table that comes part by part: the same file, in the memory of one part."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tbq.arguments import StrPath
from tbq.arguments import path as _path
from tbq.export import FORMATS, fitting, format_of
from tbq.export.options import ExportOptions, beginnings, origin
from tbq.export.target import is_direct, output

if TYPE_CHECKING:
    import pyarrow as pa


def by_parts(path: StrPath, format: str | None) -> bool:
    """Whether this target can be written part by part: Parquet, into one file."""
    path = _path("path", path)
    return (
        "{run}" not in path
        and not is_direct(path)
        and FORMATS[format_of(path, format)[0]].module == "parquet"
    )


def write_parts(
    tables: Iterable[pa.Table],
    path: StrPath,
    schema: pa.Schema,
    format: str | None,
    force: bool,
    options: ExportOptions,
) -> int:
    """Write consecutive tables, by run and tag, as one; returns the number of rows. `schema` is used without tables."""
    from tbq.columns.times import with_time
    from tbq.export.parquet import write_groups

    options = replace(options, format=format_of(path, format)[0])
    names: dict[str, None] = {}
    columns: list[str] = []
    count = 0

    def prepared() -> Iterator[pa.Table]:
        nonlocal count
        for table in itertools.chain(tables, [schema.empty_table()]):
            count += len(table)
            names.update(dict.fromkeys(table["run"].unique().to_pylist()))
            table = with_time(fitting(table, options.kind, options), options.time, options.began)
            columns[:] = table.column_names
            yield table

    def began() -> dict[str, str]:
        return beginnings(options, names) if "wall_time" in columns else {}

    with output(path, force) as stream:
        write_groups(prepared(), stream, origin(options), began)
    return count
