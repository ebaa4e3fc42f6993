"""Every table of a log at once: a folder with a file a table, or one file that holds many."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.export import FORMATS, format_of, write, write_many
from tbq.export.options import Options
from tbq.export.target import StrPath, check_free, make_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tbq.table import Table


def is_folder(path: StrPath) -> bool:
    """Whether `path` means a folder: it is one, ends in a slash, or has no ending.

    >>> is_folder("out"), is_folder("out.duckdb")
    (True, False)
    """
    return Path(path).is_dir() or os.fspath(path).endswith(("/", os.sep)) or not Path(path).suffix


def write_all(
    tables: Mapping[str, Table],
    path: StrPath,
    *,
    format: str | None = None,
    force: bool = False,
    **options: Any,
) -> list[str]:
    """Write tables by name: into a folder as `<name>.parquet` (or in `format`), or into one xlsx, sqlite or duckdb.

    Nothing is written when one of the files is there already and `force` is not set.
    """
    if not is_folder(path):
        name, _ = format_of(path, format)
        if FORMATS[name].many:
            write_many(tables, path, format=format, force=force, options=Options(**options))
            return [os.fspath(path)]
    ending = format or "parquet"
    paths = {name: Path(path, f"{name}.{ending}") for name in tables}
    for target in paths.values():
        format_of(target, None)
        check_free(target, force)
    made = not Path(path).exists()
    make_folder(path)
    try:
        for name, target in paths.items():
            write(tables[name], target, force=force, **options)
    except BaseException:
        if made:
            shutil.rmtree(path, ignore_errors=True)
        raise
    return [os.fspath(target) for target in paths.values()]
