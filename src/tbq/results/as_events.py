"""Opens metrics files like a log directory, by writing their values as event files to a temporary directory.

`tbq export`, `tbq sql`, `tbq summary` and all methods of LogDir then work on them in the same way.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tbq import _core, wire
from tbq.export.names import part
from tbq.export.target import unwritable
from tbq.results.metrics import is_metrics_file, metrics
from tbq.scratch import Scratch, temporary
from tbq.write.scalars import EXACT

_FULL = 1 << 20


@dataclass(frozen=True)
class MetricsAsEvents:
    """The paths to open instead of metrics files; some are in `scratch`, which lives as long as the log."""

    paths: list[str | os.PathLike[str]]
    scratch: Scratch

    @classmethod
    def of(cls, named: Sequence[tuple[str | None, str | os.PathLike[str]]]) -> MetricsAsEvents | None:
        """Write each metrics file as event files; None if no path is a metrics file."""
        if not any(_is_named_metrics(path) for _, path in named):
            return None
        replaced = cls([], temporary("metrics"))
        try:
            for name, path in named:
                if not _is_named_metrics(path):
                    replaced.paths.append(path if name is None else f"{name}:{os.fspath(path)}")
                    continue
                for run, place in as_events(path, str(replaced.scratch.folder)).items():
                    replaced.paths.append(f"{name or part(run)}:{place}")
        except BaseException:
            replaced.remove()
            raise
        return replaced

    def remove(self) -> None:
        """Remove the temporary files."""
        self.scratch.remove()


def _is_named_metrics(path: str | os.PathLike[str]) -> bool:
    return is_metrics_file(path) and Path(path).is_file()


def as_events(path: str | os.PathLike[str], folder: str) -> dict[str, str]:
    """Write the metrics of a file as event files below `folder`; returns the directory of each run, by name.

    A value without a wall time gets NaN.
    """
    table = metrics(path).to_arrow()
    runs: dict[str, _core.EventBuffer] = {}
    columns = (table[name].to_pylist() for name in ("run", "tag", "step", "wall_time", "value"))
    places: dict[str, Path] = {}
    for run, tag, step, wall_time, value in zip(*columns, strict=True):
        if run not in runs:
            runs[run] = _core.EventBuffer(_FULL, _FULL, 1 << 62)
            places[run] = Path(tempfile.mkdtemp(dir=folder)) / "events.out.tfevents.metrics"
            _append(places[run], [_core.frame(wire.text(3, "brain.Event:2"))])
        runs[run].scalar(tag, value, step, math.nan if wall_time is None else wall_time, EXACT)
        if runs[run].pending_bytes > _FULL:
            _append(places[run], [runs[run].take()[0]])
    for run, buffer in runs.items():
        _append(places[run], [buffer.take()[0]])
        buffer.close()
    return {run: str(place.parent) for run, place in places.items()}


def _append(path: Path, records: Iterable[bytes]) -> None:
    try:
        with path.open("ab") as stream:
            stream.writelines(records)
    except OSError as failure:
        raise unwritable(path, failure) from failure
