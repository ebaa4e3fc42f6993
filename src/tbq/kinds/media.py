"""Images, audio, texts, tensors, meshes and graphs as files in a tree run/tag/step, with a manifest."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from tbq.arguments import StrPath, choices, keywords, whole
from tbq.arguments import path as _path
from tbq.arrow import to_pyarrow
from tbq.columns.codes import values_of
from tbq.decode.options import SELECTED
from tbq.errors import DamageError, OutputError
from tbq.export.inside import place
from tbq.export.markdown import inert
from tbq.export.names import Tree
from tbq.export.options import ExportOptions
from tbq.export.rows import csv_rows
from tbq.export.target import check_free, make_folder, output, together
from tbq.kinds.texts import joined
from tbq.kinds.values import Values, locate_all
from tbq.problems import Problem
from tbq.schema import schema
from tbq.select import plain_tag
from tbq.source.urls import refuse_remote
from tbq.table.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from tbq.decode.options import Selected
    from tbq.decode.reader import Reader
    from tbq.select import Names

#: The kinds that can be written as files.
KINDS = ("images", "audio", "texts", "tensors", "meshes", "graphs")
MANIFEST = "manifest.csv"
COLUMNS = ("path", "kind", "run", "tag", "step", "wall_time", "index", "bytes")

_ENDINGS = {
    "png": ".png", "jpeg": ".jpg", "gif": ".gif", "bmp": ".bmp", "webp": ".webp", "tiff": ".tif",
    "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/ogg": ".ogg", "audio/flac": ".flac", "audio/mpeg": ".mp3",
    "graph_def": ".pb", "meta_graph_def": ".meta.pb", "keras_model": ".json",
}  # fmt: skip


class _File:
    """One file to write: the keys of its value, and its bytes."""

    def __init__(
        self, row: dict[str, Any], stem: str, ending: str, data: Any, index: int | None = None
    ) -> None:
        self.row = row
        self.stem = stem
        self.ending = ending
        self.data = data
        self.index = index


def write_media(
    reader: Reader,
    path: StrPath,
    tag: Names = None,
    every: int = 1,
    kinds: Sequence[str] | str | None = None,
    force: bool = False,
    **selected: Unpack[Selected],
) -> Table:
    """Write the files below the folder `path`, and `manifest.csv`; returns the manifest's rows.

    `every=n` takes each n-th value of a tag. An existing file is an error, unless `force`.
    """
    import pyarrow as pa

    keywords("log.write_media", selected, ("every", "kinds", "force", *SELECTED))
    every = whole("every", every, least=1)
    path = _path("path", path)
    refuse_remote(path, OutputError)
    root = Path(path)
    wanted = _kinds(kinds)
    check_free(root / MANIFEST, force)
    located = locate_all(reader, wanted, tag, **selected)
    pairs: dict[tuple[str, str], str] = {}
    picked = {}
    for name, values in located.items():
        keys = to_pyarrow(values.keys())
        for pair in zip(values_of(keys["run"]), values_of(keys["tag"]), strict=True):
            pairs.setdefault(pair, _shown(name, pair[1]))
        picked[name] = _every(keys, every)
    tree = Tree()
    folders = tree.folders(pairs)
    rows: list[dict[str, Any]] = []
    make_folder(root)
    with together(root), _manifest(root, force) as write_row:
        for name, values in located.items():
            for file in _FILES[name](values, picked[name]):
                name_of_file = tree.file(folders[file.row["run"], file.row["tag"]], file.stem, file.ending)
                _write(place(root, name_of_file, force), file.data, force)
                row = {"path": name_of_file, "kind": name, **{key: file.row[key] for key in COLUMNS[2:6]}}
                row |= {"index": file.index, "bytes": len(file.data)}
                rows.append(row)
                write_row(row)
    return Table(pa.Table.from_pylist(rows, schema=schema("media")), "media")


def _kinds(kinds: Sequence[str] | str | None) -> list[str]:
    wanted = KINDS if kinds is None else choices("kinds", kinds, KINDS)
    return [name for name in KINDS if name in wanted]


def _shown(kind: str, tag: str) -> str:
    """The tag as its user spelled it: writers append to it."""
    if kind == "texts":
        return plain_tag(tag)
    return re.sub("_(VERTEX|1)$", "", tag) if kind == "meshes" else tag


def _every(keys: pa.Table, every: int) -> list[int]:
    """The rows of each n-th value of a run and tag, from the first."""
    counts: dict[tuple[str, str], int] = {}
    rows = []
    for run, tag, row in zip(*(values_of(keys[name]) for name in ("run", "tag", "row")), strict=True):
        count = counts.get((run, tag), 0)
        counts[run, tag] = count + 1
        if count % every == 0:
            rows.append(row)
    return rows


def _rows(values: Values, rows: list[int], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of the table one by one; bytes stay in Arrow's memory."""
    keys = ("run", "tag", "step", "wall_time")
    for batch in values.batches(rows):
        plain = {name: values_of(batch.column(name)) for name in (*keys, *columns)}
        data = batch.column("data") if "data" in batch.schema.names else None
        for i in range(batch.num_rows):
            row = {name: column[i] for name, column in plain.items()}
            if data is not None:
                buffer = data[i].as_buffer()
                row["data"] = memoryview(buffer) if buffer is not None else memoryview(b"")
            yield row


def _stem(row: dict[str, Any]) -> str:
    step = int(row["step"])
    return f"{step:08d}" if step >= 0 else f"m{-step:08d}"


def _encoded(values: Values, rows: list[int], column: str) -> Iterator[_File]:
    """Images and audio: the encoded bytes unchanged; if an event has several, each name ends with its index."""
    for row in _rows(values, rows, ("index", column)):
        index = row["index"]
        stem = _stem(row) + (f"_{index}" if index else "")
        yield _File(row, stem, _ENDINGS.get(row[column] or "", ".bin"), row["data"], index)


def _texts(values: Values, rows: list[int]) -> Iterator[_File]:
    import pyarrow as pa

    parts: list[dict[str, Any]] = []

    def file() -> _File:
        text = joined(pa.table({"index": [p["index"] for p in parts], "text": [p["text"] for p in parts]}))
        return _File(parts[0], _stem(parts[0]), ".md", inert(text).encode())

    for row in _rows(values, rows, ("index", "text")):
        if parts and not any(row["index"] or ()):  # the first element of the next text
            yield file()
            parts = []
        parts.append(row)
    if parts:
        yield file()


def _tensors(values: Values, rows: list[int]) -> Iterator[_File]:
    """NumPy's own files, which `numpy.load` reads without pickle; they cannot hold strings."""
    import io

    import numpy as np

    from tbq.kinds.tensors import array

    for row in _rows(values, rows, ("dtype", "shape")):
        if row["shape"] is None or row["dtype"] == "string":
            continue
        stream = io.BytesIO()
        try:
            elements = array(row["dtype"], row["shape"], row["data"])
        except DamageError as wrong:
            text = f"step {row['step']:,}: {wrong.message}"
            values.note(Problem(wrong.code, "warning", text, run=row["run"], tag=row["tag"]))
            continue
        np.lib.format.write_array(stream, elements, allow_pickle=False)
        yield _File(row, _stem(row), ".npy", stream.getvalue())


def _meshes(values: Values, rows: list[int]) -> Iterator[_File]:
    """One PLY file per mesh of the batch, with the faces and colours of the same step."""
    from tbq.kinds.meshes import mesh

    keys = to_pyarrow(values.keys())
    parts: dict[tuple[str, str, int], dict[str, int]] = {}
    for key in keys.to_pylist():
        base, _, part = key["tag"].rpartition("_")
        parts.setdefault((key["run"], base, key["step"]), {})[part] = key["row"]
    chosen = set(rows)
    by_row = {key["row"]: key for key in keys.to_pylist()}
    for (run, base, step), of_mesh in parts.items():
        lead = of_mesh.get("VERTEX", of_mesh.get("1", min(of_mesh.values())))
        if lead not in chosen:
            continue
        table = values.arrow(sorted(of_mesh.values()))
        if not len(table):
            continue
        row = {**by_row[lead], "step": step}
        try:
            solid = mesh(table)
        except DamageError as wrong:
            values.note(Problem(wrong.code, "warning", f"step {step:,}: {wrong.message}", run=run, tag=base))
            continue
        for i in range(len(solid.vertices)):
            yield _File(row, _stem(row) + (f"_{i}" if i else ""), ".ply", solid.ply(i), i)


def _graphs(values: Values, rows: list[int]) -> Iterator[_File]:
    for number in rows:
        row = next(_rows(values, [number], ("format",)), None)
        if row is None:  # unreadable, and already reported
            continue
        yield _File(row, _stem(row), _ENDINGS[row["format"]], row["data"])
        nodes = values.sibling("nodes").arrow([number])
        columns = ("name", "op", "device", "inputs", "function")
        lines = [_csv_line(columns)]
        for node in nodes.select(columns).to_pylist():
            node["inputs"] = " ".join(node["inputs"])
            lines.append(_csv_line(node.values()))
        yield _File(row, _stem(row), ".nodes.csv", b"".join(lines))


_FILES: dict[str, Any] = {
    "images": lambda values, rows: _encoded(values, rows, "format"),
    "audio": lambda values, rows: _encoded(values, rows, "content_type"),
    "texts": _texts,
    "tensors": _tensors,
    "meshes": _meshes,
    "graphs": _graphs,
}


def _csv_line(cells: Iterable[Any]) -> bytes:
    """A line of CSV without text that a spreadsheet would run as a formula; numbers and absent values are unchanged."""
    quoted = csv_rows([], ",", ExportOptions(csv_safe=True)).quoted
    texts = (quoted(cell) if isinstance(cell, str) else "" if cell is None else str(cell) for cell in cells)
    return ",".join(texts).encode() + b"\n"


def _write(target: Path, data: Any, force: bool) -> None:
    with output(target, force) as stream:
        stream.write(data)


@contextlib.contextmanager
def _manifest(root: Path, force: bool) -> Iterator[Callable[[dict[str, Any]], object]]:
    """Write the manifest's rows as they come; the manifest appears only after all files exist."""
    with output(place(root, MANIFEST, force), force) as stream:
        stream.write(_csv_line(COLUMNS))
        yield lambda row: stream.write(_csv_line(row[name] for name in COLUMNS))
