"""Writes statistics over runs as event files, one run per group and statistic, so that TensorBoard draws them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tbq.arguments import path as _path
from tbq.errors import OutputError, warn
from tbq.export.names import folder as safe_folder
from tbq.export.target import is_empty, make_folder, output_folder, unwritable
from tbq.source.urls import refuse_remote
from tbq.text import counted

if TYPE_CHECKING:
    import pyarrow as pa


def write_events(table: pa.Table, wall_times: pa.ChunkedArray, target: str | os.PathLike[str]) -> list[str]:
    """Write the result of `reduce` to a new directory; returns the names of its runs: `<group>/<statistic>`.

    If writing fails, nothing is left behind.
    """
    place = check_events(target)
    make_folder(place.parent)
    with output_folder(place) as folder:
        return _write(table, wall_times, folder)


def check_events(target: str | os.PathLike[str]) -> Path:
    """The directory to write events to. Raises if it cannot be used; call it before anything is read."""
    target = _path("path", target)
    refuse_remote(target, OutputError)
    place = Path(target)
    if place.exists() and not place.is_dir():
        raise OutputError("is a file, want a new directory", path=place)
    try:
        if place.exists() and not is_empty(place):
            raise OutputError("exists and is not empty", path=place, hint="choose a new directory")
    except OSError as failure:
        raise unwritable(place, failure) from failure
    return place


def _write(table: pa.Table, wall_times: pa.ChunkedArray, root: Path) -> list[str]:
    from tbq.write.writer import SummaryWriter

    stats = [name for name in table.column_names if name not in ("group", "tag", "step")]
    groups = table["group"].to_pylist()
    tags, steps, times = table["tag"].to_pylist(), table["step"].to_pylist(), wall_times.to_pylist()
    names = folders(sorted(set(groups)))
    untagged = tags.count("")
    if untagged:
        warn(f"{counted(untagged, 'row')} without a tag cannot be written as events")
    for stat in stats:
        values = table[stat].to_pylist()
        for group, name in names.items():
            rows = [
                i
                for i, name_of in enumerate(groups)
                if name_of == group and tags[i] and values[i] is not None
            ]
            if not rows:
                continue
            rows.sort(key=lambda i: steps[i])
            with SummaryWriter(root / name / stat, on_error="raise") as writer:
                for i in rows:
                    writer.add_scalar(tags[i], values[i], steps[i], walltime=times[i])
    return [f"{name}/{stat}" for name in names.values() for stat in stats]


def folders(groups: list[str]) -> dict[str, str]:
    """A distinct relative directory for each group, with a name that is safe on every system.

    >>> folders(["lr=0.1", "a/*", "../b"])
    {'lr=0.1': 'lr=0.1', 'a/*': 'a/_', '../b': '_/b'}
    """
    names: dict[str, str] = {}
    for group in groups:
        name = base = safe_folder(group)
        count = 1
        while name.lower() in {other.lower() for other in names.values()}:
            count += 1
            name = f"{base}-{count}"
        names[group] = name
    return names
