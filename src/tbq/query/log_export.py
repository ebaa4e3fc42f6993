"""Writes tables of a log to files: one kind, or all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tbq.arguments import keywords
from tbq.arrow import to_pyarrow
from tbq.decode.options import SELECTED, Selected
from tbq.decode.options import DecodeOptions as Reading
from tbq.export import check
from tbq.export import write as write_table
from tbq.export.options import WRITING, ExportOptions, Writing
from tbq.export.parts import by_parts, write_parts
from tbq.kinds.tables import table, tables
from tbq.schema import bytes_in, schema
from tbq.select import Names, Selection
from tbq.select import steps as _steps
from tbq.storage import using

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.arguments import StrPath
    from tbq.decode.reader import Reader


class Export(Selected, Writing, total=False):
    """The keywords of `log.write`: those of a table, and those of `table.write`."""

    tag: Names


class Paths(list[str]):
    """The written paths, and the number of rows if it was one table."""

    def __init__(self, paths: Iterable[str], rows: int | None = None) -> None:
        super().__init__(paths)
        self.rows = rows


def write(reader: Reader, path: StrPath, kind: str = "all", **options: Any) -> Paths:
    """Write all tables, or one; checks the target before reading anything."""
    keywords("log.write", options, ("kind", *SELECTED, *WRITING))
    selected = {name: value for name, value in options.items() if name in SELECTED}
    writing = {name: value for name, value in options.items() if name in WRITING}
    with using(storage=writing.pop("storage", None)):
        return _write(reader, path, kind, selected, writing)


def _write(
    reader: Reader, path: StrPath, kind: str, selected: dict[str, Any], writing: dict[str, Any]
) -> Paths:
    if kind == "all":
        from tbq.export.everything import check_holder, write_all

        check_holder(path, writing.get("format"))
        return Paths(write_all(tables(reader, **selected), path, **writing))
    fewer = bool(writing.get("columns") or writing.get("drop_bytes"))
    target = {name: writing[name] for name in ("format", "force") if name in writing}
    check(path, binary=() if fewer else bytes_in(kind), **target)
    if kind == "scalars" and by_parts(path, writing.get("format")):
        with suppress(NotByParts):
            return write_scalars(reader, path, selected, writing)
    rows = table(reader, kind, **selected)
    return Paths(write_table(rows, path, **writing), len(rows))


class NotByParts(Exception):  # noqa: N818 - not an error: the caller writes the full table instead
    """Raised if the selected tags are known only after reading all."""


def write_scalars(reader: Reader, path: StrPath, selected: dict[str, Any], writing: dict[str, Any]) -> Paths:
    """Write scalars run by run: the file equals that of the full table, which is never in memory."""
    remaining = dict(selected)
    run, tags = remaining.pop("run", None), Selection.of(remaining.pop("tag", None))
    on_error = remaining.pop("on_error", "warn")
    reading = Reading.of(remaining, tag=tags, steps=_steps(remaining.pop("steps", None)))  # type: ignore[arg-type]
    force, format = writing.get("force", False), writing.get("format")
    how = {name: value for name, value in writing.items() if name not in ("force", "format", "storage")}
    options = ExportOptions(kind="scalars", logdir=reader.path, began=reader.began, **how)
    tables = _parts(reader, run, tags, reading, on_error)
    return Paths([os.fspath(path)], write_parts(tables, path, schema("scalars"), format, force, options))


def _parts(
    reader: Reader, run: Names, tags: Selection, options: Reading, on_error: Any
) -> Iterator[pa.Table]:
    """The scalars of a few runs at a time."""
    seen: set[str] = set()
    result = None
    for part, result in reader.in_groups(reader.choose(run), ["scalars"], options, on_error):
        seen.update(result.tags("scalars"))
        scalars = to_pyarrow(reader.scalars(result, part))
        if len(scalars):
            yield scalars
    if tags.everything or result is None:
        return
    names = set(tags.resolve(sorted(seen)).names)
    # Either nothing was selected, which the other path explains; or `loss[0]` is an exact name, not a pattern.
    if not names or any(name not in names for name in seen if tags.matches(name)):
        raise NotByParts
    reader.require(tags, sorted(seen), result)
