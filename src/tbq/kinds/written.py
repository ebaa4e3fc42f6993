"""Tables of a log to files: one kind, or all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.arguments import keywords
from tbq.decode.options import SELECTED, Selected
from tbq.export import check
from tbq.export import write as write_table
from tbq.export.everything import check_holder, write_all
from tbq.export.options import WRITING, Writing
from tbq.kinds.tables import table, tables
from tbq.schema import schema
from tbq.select import Names
from tbq.storage import using

if TYPE_CHECKING:
    from tbq.arguments import StrPath
    from tbq.decode.reader import Reader


class Export(Selected, Writing, total=False):
    """The keywords of `log.write`: those of a table, and those of `table.write`."""

    run: Names


def write(reader: Reader, path: StrPath, kind: str = "all", **options: Any) -> list[str]:
    """Write all tables, or one; what would stop that is reported before anything is read."""
    keywords("log.write", options, ("kind", *SELECTED, *WRITING))
    selected = {name: value for name, value in options.items() if name in SELECTED}
    writing = {name: value for name, value in options.items() if name in WRITING}
    with using(storage=writing.pop("storage", None)):
        return _write(reader, path, kind, selected, writing)


def _write(
    reader: Reader, path: StrPath, kind: str, selected: dict[str, Any], writing: dict[str, Any]
) -> list[str]:
    if kind == "all":
        check_holder(path, writing.get("format"))
        return write_all(tables(reader, **selected), path, **writing)
    fewer = bool(writing.get("columns") or writing.get("drop_bytes"))
    target = {name: writing[name] for name in ("format", "force") if name in writing}
    check(path, schema=None if fewer else schema(kind), **target)
    return write_table(table(reader, kind, **selected), path, **writing)
