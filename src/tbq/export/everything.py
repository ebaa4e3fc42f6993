"""Every table of a log at once: a folder with a file a table, or one file that holds many."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.errors import TbqWarning, UsageError
from tbq.export import FORMATS, format_of, write, write_many
from tbq.export.inside import clear
from tbq.export.options import Options
from tbq.export.target import StrPath, check_free, is_direct, make_folder, output_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tbq.table import Table

_WITHOUT_BYTES = ("csv", "tsv", "json", "jsonl", "xlsx")


def is_folder(path: StrPath) -> bool:
    """Whether `path` means a folder: it is one, ends in a slash, or has no ending.

    >>> is_folder("out"), is_folder("out.duckdb")
    (True, False)
    """
    if is_direct(path):
        return False
    return Path(path).is_dir() or os.fspath(path).endswith(("/", os.sep)) or not Path(path).suffix


def check_holder(path: StrPath, format: str | None = None) -> str | None:
    """The format of the one file that shall hold all tables, or None for a folder; raises for one that holds one."""
    if is_folder(path):
        return None
    name, _ = format_of(path, format)
    if not FORMATS[name].many:
        raise UsageError(
            f"a {name} file holds one table",
            path=path,
            hint="name a folder, or a file: -o out, -o out.duckdb",
        )
    return name


def write_all(
    tables: Mapping[str, Table],
    path: StrPath,
    *,
    format: str | None = None,
    force: bool = False,
    **options: Any,
) -> list[str]:
    """Write tables by name: into a folder as `<name>.parquet` (or in `format`), or into one xlsx, sqlite or duckdb.

    Nothing is written when one of the files is there already and `force` is not set. Columns of bytes are left out
    of formats that cannot hold them, with a warning that names them.
    """
    holder = check_holder(path, format)
    if holder is not None:
        tables = that_fit(tables, holder)
        write_many(tables, path, format=format, force=force, options=Options(**options))
        return [os.fspath(path)]
    ending = format or "parquet"
    paths = {name: Path(path, f"{name}.{ending}") for name in tables}
    for target in paths.values():
        format_of(target, None)
        check_free(target, force)
    tables = that_fit(tables, format_of(Path(f"table.{ending}"), None)[0])
    if Path(path).exists():
        for name, target in paths.items():
            clear(target, force)
            write(tables[name], target, force=force, **options)
    else:
        make_folder(Path(path).absolute().parent)
        with output_folder(path) as folder:
            for name, target in paths.items():
                write(tables[name], folder / target.name, **options)
    return [os.fspath(target) for target in paths.values()]


def that_fit(tables: Mapping[str, Table], format: str) -> dict[str, Table]:
    """The tables, without columns of bytes where the format holds none."""
    import pyarrow as pa

    from tbq.table import Table

    if format not in _WITHOUT_BYTES:
        return dict(tables)
    fitting = {}
    left: list[str] = []
    for name, table in tables.items():
        arrow = table.to_arrow()
        binary = [
            field.name
            for field in arrow.schema
            if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type)
        ]
        left += [f"{name}.{column}" for column in binary]
        fitting[name] = (
            Table(arrow.drop_columns(binary), table.kind, logdir=table.logdir, began=table.began)
            if binary
            else table
        )
    if left:
        warnings.warn(
            f"{format} holds no bytes: {', '.join(left)} {'is' if len(left) == 1 else 'are'} left out; "
            "parquet, sqlite and duckdb keep them, `tbq media` writes images and such as files",
            TbqWarning,
            stacklevel=3,
        )
    return fitting
