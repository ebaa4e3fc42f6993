"""Files of metrics that are opened like a logdir: their values as event files in a scratch directory.

So `tbq export`, `tbq sql`, `tbq summary` and all methods of a LogDir work on them by the one path there is.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tbq import _core
from tbq.export.target import unwritable
from tbq.results.metrics import is_metrics_file, metrics
from tbq.scratch import Scratch, temporary
from tbq.write.scalars import EXACT

_FULL = 1 << 20
_NOT_IN_NAMES = re.compile(r"[:/\\]")


@dataclass(frozen=True)
class MetricsAsEvents:
    """What to open in place of files of metrics: `paths`, some of which lie in `scratch`, which goes with the log."""

    paths: list[str | os.PathLike[str]]
    scratch: Scratch

    @classmethod
    def of(cls, named: Sequence[tuple[str | None, str | os.PathLike[str]]]) -> MetricsAsEvents | None:
        """Write each file of metrics as event files; None where there is none among the paths."""
        if not any(_is_named_metrics(path) for _, path in named):
            return None
        made = cls([], temporary("metrics"))
        try:
            for name, path in named:
                if not _is_named_metrics(path):
                    made.paths.append(path if name is None else f"{name}:{os.fspath(path)}")
                    continue
                for run, place in as_events(path, str(made.scratch.folder)).items():
                    made.paths.append(f"{name or _NOT_IN_NAMES.sub('_', run)}:{place}")
        except BaseException:
            made.remove()
            raise
        return made

    def remove(self) -> None:
        """Remove what was written."""
        self.scratch.remove()


def _is_named_metrics(path: str | os.PathLike[str]) -> bool:
    return is_metrics_file(path) and Path(path).is_file()


def as_events(path: str | os.PathLike[str], folder: str) -> dict[str, str]:
    """Write the metrics of a file as event files below `folder`; gives the directory of each run, by its name.

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
            _append(places[run], [_header()])
        runs[run].scalar(tag, value, step, math.nan if wall_time is None else wall_time, EXACT)
        if runs[run].pending_bytes > _FULL:
            _append(places[run], [runs[run].take()[0]])
    for run, buffer in runs.items():
        _append(places[run], [buffer.take()[0]])
        buffer.close()
    return {run: str(place.parent) for run, place in places.items()}


def _header() -> bytes:
    version = b"brain.Event:2"
    return _core.frame(b"\x1a" + bytes([len(version)]) + version)


def _append(path: Path, records: Iterable[bytes]) -> None:
    try:
        with path.open("ab") as stream:
            stream.writelines(records)
    except OSError as failure:
        raise unwritable(path, failure) from failure
