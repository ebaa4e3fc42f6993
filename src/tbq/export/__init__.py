"""Writes any table to a file, in the format of the file's extension.

`write` writes one table, or one file per run; `write_many` several tables into one workbook or database; `check`
raises in advance what would stop them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from tbq.arguments import StrPath, bad
from tbq.arguments import path as _path
from tbq.arrow import Arrow, arrow_of, to_pyarrow
from tbq.columns.times import Time
from tbq.errors import UsageError
from tbq.export.fit import chosen, refuse_bytes, that_fit
from tbq.export.options import ExportOptions, JsonNan
from tbq.export.target import (
    Unclosed,
    check_folder_can_be_made,
    check_free,
    is_direct,
    make_folder,
    output,
    output_path,
    together,
)
from tbq.source.urls import is_remote
from tbq.storage import Storage, using

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FORMATS",
    "ExportOptions",
    "check",
    "compressed",
    "format_of",
    "output",
    "output_path",
    "write",
    "write_many",
]


class _Format(NamedTuple):
    module: str
    text: bool = False  # needs no pyarrow, and can be compressed as .gz and .zst
    many: bool = False  # holds several tables
    needs_path: bool = False  # written by a library that opens the file itself


#: Format -> how to write it. The names are also the extensions.
FORMATS: dict[str, _Format] = {
    "csv": _Format("csv", text=True),
    "tsv": _Format("csv", text=True),
    "parquet": _Format("parquet"),
    "arrow": _Format("arrow"),
    "feather": _Format("arrow"),
    "json": _Format("json", text=True),
    "jsonl": _Format("json", text=True),
    "xlsx": _Format("xlsx", many=True),
    "sqlite": _Format("sqlite", many=True, needs_path=True),
    "duckdb": _Format("duckdb", many=True, needs_path=True),
    "md": _Format("markdown", text=True),
    "html": _Format("html", text=True),
    "npz": _Format("npz"),
}
_ALIASES = {
    "db": "sqlite",
    "sqlite3": "sqlite",
    "ndjson": "jsonl",
    "markdown": "md",
    "htm": "html",
    "pq": "parquet",
}
_COMPRESSIONS = ("gz", "zst")
_ORIGIN = ("logdir", "began")  # what a Table knows of its origin


def write(
    table: Any,
    path: StrPath,
    *,
    format: str | None = None,
    force: bool = False,
    time: Time = "unix",
    csv_safe: bool = False,
    json_nan: JsonNan = "null",
    columns: Sequence[str] | str | None = None,
    drop_bytes: bool = False,
    digits: int | None = None,
    storage: Storage | None = None,
) -> list[str]:
    """Write a Table, or anything with the Arrow PyCapsule, to `path`; returns the written paths.

    `{run}` in the path writes one file per run. `format` overrides the extension; `force` replaces an existing file;
    `time` is `unix` for seconds, `iso` for dates, or `relative` for seconds since the run began; `csv_safe` escapes
    cells that a spreadsheet runs; `json_nan="string"` writes NaN as "NaN", not null; `columns` keeps only these
    columns, `drop_bytes` leaves out columns of bytes; Markdown and HTML show `digits` significant digits. A path may be
    a URL (`s3://`, `gs://`, `az://`): `storage` sets the store's options.

    >>> import pyarrow as pa, tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp(), "out.csv")
    >>> paths = write(pa.table({"step": [1, 2], "value": [0.1, None]}), target)
    >>> print(target.read_text(), end="")
    step,value
    1,0.1
    2,
    """
    options = options_of(
        table,
        time=time,
        csv_safe=csv_safe,
        json_nan=json_nan,
        columns=columns,
        drop_bytes=drop_bytes,
        digits=digits,
    )
    path = _path("path", path)
    with using(storage=storage):
        if "{run}" in path:
            return _write_runs(to_pyarrow(arrow_of(table)), path, format, force, options)
        return write_many({options.kind: table}, path, format=format, force=force, options=options)


def write_many(
    tables: Mapping[str, Any],
    path: StrPath,
    *,
    format: str | None = None,
    force: bool = False,
    options: ExportOptions | None = None,
) -> list[str]:
    """Write tables by name into one file: the sheets of an xlsx, the tables of a sqlite or duckdb file.

    >>> from tbq.export import write_many
    >>> write_many({"validation": log.scalars("val/*"), "hparams": log.hparams()}, "log.sqlite")
    ['log.sqlite']
    """
    from tbq.columns.times import with_time

    name, compression = format_of(path, format)
    kind = FORMATS[name]
    if len(tables) != 1 and not kind.many:
        holders = ", ".join(other for other, how in FORMATS.items() if how.many)
        raise UsageError(
            f"{len(tables)} tables do not fit into one {name} file", hint=f"use one of {holders}"
        )
    options = replace(options or ExportOptions(), format=name)
    arrows = {
        key: with_time(
            fitting(arrow_of(table), key, options), options.time, getattr(table, "began", options.began)
        )
        for key, table in tables.items()
    }
    if not kind.text:
        arrows = {key: to_pyarrow(table) for key, table in arrows.items()}
    module = importlib.import_module(f"tbq.export.{kind.module}")
    if kind.needs_path:
        with output_path(path, force) as beside:
            module.write_many(arrows, beside, options)
    else:
        with output(path, force) as stream, compressed(stream, compression) as squeezed:
            if kind.many:
                module.write_many(arrows, squeezed, options)
            else:
                module.write(next(iter(arrows.values())), squeezed, options)
    return [os.fspath(path)]


def _write_runs(
    table: pa.Table, template: str, format: str | None, force: bool, options: ExportOptions
) -> list[str]:
    """Write one file per run: a safe form of the run's name replaces `{run}` in the template.

    Writes nothing if one of the files exists and `force` is not set.
    """
    from tbq.export.inside import clear
    from tbq.export.runs import by_run, run_paths

    format_of(template, format)  # raises for a wrong extension before anything is written
    runs = by_run(table)
    paths = run_paths(template, list(runs))
    for path in paths.values():
        check_free(path, force)
    if is_remote(template):
        for run, path in paths.items():
            write_many({options.kind: runs[run]}, path, format=format, force=force, options=options)
        return list(paths.values())
    from pathlib import Path

    folder = Path(template.partition("{run}")[0] + "_").parent
    make_folder(folder)
    with together(folder):
        for run, path in paths.items():
            make_folder(Path(path).parent)
            clear(Path(path), force)
            write_many({options.kind: runs[run]}, path, format=format, force=force, options=options)
    return list(paths.values())


def check(
    path: StrPath | None, *, format: str | None = None, force: bool = False, binary: Sequence[str] = ()
) -> None:
    """Raise what `write` would raise for this target, before anything is read; None is standard output.

    `binary` names the columns of bytes that are to be written.
    """
    if path is None:
        format_of("-", format or "csv")
        return
    if "{run}" not in os.fspath(path):
        check_free(path, force)
    name, _ = format_of(path, format)
    check_folder_can_be_made(path)
    refuse_bytes(binary, name)


def fitting(table: Arrow, kind: str, options: ExportOptions) -> Arrow:
    """The columns to write. A summary leaves out its images if the format cannot hold them."""
    table = chosen(table, options.columns)
    if options.drop_bytes or options.kind == "summary":
        return that_fit({kind: table}, options.format, quiet=options.drop_bytes)[kind]
    return table


def format_of(path: StrPath, format: str | None = None) -> tuple[str, str | None]:
    """The format and the compression (`gz`, `zst` or None) of a path; a pipe, which has no extension, gets CSV.

    >>> format_of("out.csv.gz"), format_of("/dev/stdout")
    (('csv', 'gz'), ('csv', None))
    """
    if format is not None and not isinstance(format, str):
        raise bad("format", format, f"one of {', '.join(FORMATS)}")
    parts = os.path.basename(os.path.normpath(_path("path", path))).lower().split(".")[1:]
    compression = parts.pop() if parts and parts[-1] in _COMPRESSIONS else None
    ending = format.lower().removeprefix(".") if format else (parts[-1] if parts else "")
    if format and "." in ending:
        ending, _, compression = ending.partition(".")
    if not ending and is_direct(path):
        ending = "csv"
    name = _ALIASES.get(ending, ending)
    if name not in FORMATS or compression not in (None, *_COMPRESSIONS):
        got = f"the format {format!r}" if format else f".{ending} files"
        raise UsageError(
            f"tbq cannot write {got}" if format or ending else "has no extension that names a format",
            path=path,
            hint=f"--format (format=) or the extension can be {', '.join(FORMATS)}; text also with .gz or .zst",
        )
    if compression and not FORMATS[name].text:
        raise UsageError(f"tbq does not compress {name} files", path=path, hint=f"omit .{compression}")
    return name, compression


def options_of(table: Any, **options: Any) -> ExportOptions:
    """The options of a writer, with what a Table knows of its origin."""
    known: dict[str, Any] = {name: getattr(table, name, None) for name in _ORIGIN}
    return ExportOptions(kind=getattr(table, "kind", "table"), **known, **options)


@contextlib.contextmanager
def compressed(stream: IO[bytes], compression: str | None) -> Iterator[IO[bytes]]:
    """A stream that compresses into `stream` (`gz`, `zst`, or None for no compression)."""
    if compression == "gz":
        import gzip

        # Without a timestamp: the same table gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=6, mtime=0) as compressor:
            yield compressor  # type: ignore[misc]
    elif compression == "zst":
        import pyarrow as pa

        with pa.CompressedOutputStream(pa.PythonFile(Unclosed(stream), "w"), "zstd") as compressor:
            yield compressor
    else:
        yield stream
