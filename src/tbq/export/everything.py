"""Every table of a log: a folder with one file per table, or one file that holds many."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tbq.arguments import StrPath
from tbq.errors import UsageError
from tbq.export import FORMATS, format_of, options_of, write_many
from tbq.export.fit import that_fit
from tbq.export.inside import clear
from tbq.export.options import ExportOptions
from tbq.export.target import check_free, is_direct, make_folder, output_folder
from tbq.source.urls import is_remote, place_of


def is_folder(path: StrPath) -> bool:
    """Whether `path` means a folder: it is one, ends in a slash, or has no extension.

    >>> is_folder("out"), is_folder("out.duckdb")
    (True, False)
    """
    if is_direct(path):
        return False
    if is_remote(path):
        return os.fspath(path).endswith("/") or not Path(place_of(path).key).suffix
    return Path(path).is_dir() or os.fspath(path).endswith(("/", os.sep)) or not Path(path).suffix


def check_holder(path: StrPath, format: str | None = None) -> str | None:
    """The format of the one file for all tables, or None for a folder; raises if the format holds only one table."""
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
    tables: Mapping[str, Any],
    path: StrPath,
    *,
    format: str | None = None,
    force: bool = False,
    **options: Any,
) -> list[str]:
    """Write tables by name: into a folder as `<name>.parquet` (or in `format`), or into one xlsx, sqlite or duckdb.

    Writes nothing if one of the files exists and `force` is not set. Leaves out columns of bytes if the format
    cannot hold them, with a warning that names them.
    """
    holder = check_holder(path, format)
    ending = format or "parquet"
    name, _ = format_of(Path(f"table.{ending}"), None) if holder is None else (holder, None)
    arrows = that_fit(
        {key: table.to_arrow() for key, table in tables.items()}, name, quiet=bool(options.get("drop_bytes"))
    )
    kept = {key: options_of(table, **options) for key, table in tables.items()}
    if holder is not None:
        shared = next(iter(kept.values()), ExportOptions(**options))
        return write_many(arrows, path, format=format, force=force, options=shared)
    if is_remote(path):
        urls = {key: place_of(path).below(f"{key}.{ending}").url for key in tables}
        for url in urls.values():
            check_free(url, force)
        for key, url in urls.items():
            write_many({key: arrows[key]}, url, force=force, options=kept[key])
        return list(urls.values())
    paths = {key: Path(path, f"{key}.{ending}") for key in tables}
    for target in paths.values():
        format_of(target, None)
        check_free(target, force)
    if Path(path).exists():
        for key, target in paths.items():
            clear(target, force)
            write_many({key: arrows[key]}, target, force=force, options=kept[key])
    else:
        make_folder(Path(path).absolute().parent)
        with output_folder(path) as folder:
            for key, target in paths.items():
                write_many({key: arrows[key]}, folder / target.name, options=kept[key])
    return [os.fspath(target) for target in paths.values()]
