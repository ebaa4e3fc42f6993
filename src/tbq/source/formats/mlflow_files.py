"""MLflow: the older file store, `mlruns/EXPERIMENT/RUN` with one file per metric."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from tbq.problems import Problem
from tbq.source.formats.flat_yaml import flat_yaml
from tbq.source.formats.interface import Format, Log, Reached, ReplacedError, Stamp
from tbq.source.formats.mlflow import ENDED, seconds, typed
from tbq.source.formats.run_names import part
from tbq.source.formats.single_values import SingleValues
from tbq.source.formats.sink import Sink, flat

_STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
_MOST_TEXT = 1 << 20


class MlflowFilesFormat(Format):
    """Recognised by the `meta.yaml` of a run."""

    def logs(self, path: str) -> Iterable[Log]:
        about = flat_yaml(path)
        run = about.get("run_id", about.get("run_uuid"))
        if run is None or "experiment_id" not in about or about.get("lifecycle_stage", "active") != "active":
            return []
        folder = os.path.dirname(path)
        experiment = flat_yaml(os.path.join(os.path.dirname(folder), "meta.yaml")).get("name")
        name = "/".join(map(part, [experiment or about["experiment_id"], *_names(folder)]))
        return [Log("mlflow", path, name, format="mlflow_files", up=2, unique=str(run)[:8])]

    def stamp(self, log: Log) -> Stamp | None:
        folder = os.path.dirname(log.path)
        size, latest, count = 0, 0, 0
        try:
            own = os.stat(log.path)
            for path in [*_files(folder, "metrics"), *_files(folder, "params"), *_files(folder, "tags")]:
                status = os.stat(path)
                size, count = size + status.st_size, count + 1
                latest = max(latest, status.st_mtime_ns)
        except OSError:
            return None
        return size, max(latest / 1e9, own.st_mtime), (count, size, latest, own.st_mtime_ns, own.st_ino)

    def translator(self, log: Log) -> _MlflowFiles:
        return _MlflowFiles(os.path.dirname(log.path))


def _names(folder: str, depth: int = 0) -> list[str]:
    """The names of the run and of the runs above it."""
    about = flat_yaml(os.path.join(folder, "meta.yaml"))
    name = _read(os.path.join(folder, "tags", "mlflow.runName")) or about.get("run_name")
    own = str(name or os.path.basename(folder))
    parent = _read(os.path.join(folder, "tags", "mlflow.parentRunId"))
    above = os.path.join(os.path.dirname(folder), os.path.basename(parent)) if parent else ""
    if depth < 20 and above and above != folder and os.path.isfile(os.path.join(above, "meta.yaml")):
        return [*_names(above, depth + 1), own]
    return [own]


def _files(folder: str, part: str) -> Iterator[str]:
    """The files below a part of the run's folder, in order; links are not followed."""
    for above, folders, names in os.walk(os.path.join(folder, part)):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(above, name)
            if not os.path.islink(path) and os.path.isfile(path):
                yield path


def _read(path: str) -> str:
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_MOST_TEXT)


class _MlflowFiles:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._reached: dict[str, Reached] = {}
        self._params: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._status = ""
        self._step = 0
        self._bad: dict[str, Problem] = {}
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        if self._status in ENDED:  # it was resumed, or something was added after its end
            raise ReplacedError
        about = flat_yaml(os.path.join(self._folder, "meta.yaml"))
        began = seconds(about.get("start_time"))
        params = {self._name(path, "params"): _read(path) for path in _files(self._folder, "params")}
        if params != self._params:
            self._params = params
            sink.hparams(flat(typed(params)), began)
        for path in _files(self._folder, "tags"):
            name, text = self._name(path, "tags"), _read(path)
            if not name.startswith("mlflow.") and self._texts.get(name) != text:
                if name in self._texts:
                    raise ReplacedError
                self._texts[name] = text
                sink.text(f"tag/{name}", text, 0, began)
        latest = max([self._metric(path, sink) for path in _files(self._folder, "metrics")], default=0.0)
        status = about.get("status")
        known = _STATUS.get(int(status), "") if isinstance(status, int | float) else str(status)
        if known != self._status and known in ENDED:
            sink.end(ENDED[known], self._step, max(latest, seconds(about.get("end_time"))))
        self._status = known
        self.problems = list(self._bad.values())

    def _name(self, path: str, part: str) -> str:
        return os.path.relpath(path, os.path.join(self._folder, part)).replace(os.sep, "/")

    def _metric(self, path: str, sink: Sink) -> float:
        """Add the new lines of a metric: time, value and step; returns the latest time."""
        reached = self._reached.setdefault(path, Reached())
        with open(path, "rb") as file:
            reached.check(file)
            file.seek(reached.position)
            data = file.read()
            end = data.rfind(b"\n") + 1
            reached.advance(file, reached.position + end)
        times, values, steps = [], [], []
        for line in data[:end].splitlines():
            parts = line.split()
            try:
                row = int(parts[0]) / 1000, float(parts[1]), int(parts[2]) if len(parts) > 2 else 0
            except (ValueError, IndexError, OverflowError):
                if path not in self._bad:
                    message = f"has a line that is not a time, a value and a step: {line[:40]!r}"
                    self._bad[path] = Problem("bad_rows", "error", message, path=path)
                continue
            times.append(row[0])
            values.append(row[1])
            steps.append(row[2])
        rows = SingleValues()
        rows.add([self._name(path, "metrics")] * len(times), steps, times, values)
        rows.write(sink)
        self._step = max([self._step, *steps])
        return max(times, default=0.0)
