"""Recognises logs of other trackers by their content. Only files with certain names are opened."""

from __future__ import annotations

import functools
import importlib
import os
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.problems import Problem
from tbq.source.formats.interface import Format, Log, ReplacedError, Stamp, stamp_of_files
from tbq.text import with_digits

if TYPE_CHECKING:
    from tbq.errors import SourceError

# The module and class of each format, and the names of files that may be of it.
_FORMATS = {
    "wandb": ("wandb", "WandbFormat", (".wandb",)),
    "mlflow": ("mlflow", "MlflowFormat", (".db", ".sqlite", ".sqlite3")),
    "mlflow_files": ("mlflow_files", "MlflowFilesFormat", ("meta.yaml",)),
    "trackio": ("trackio", "TrackioFormat", (".db",)),
    "huggingface": ("trainer_state", "TrainerStateFormat", ("trainer_state.json",)),
    "ray": ("ray", "RayFormat", ("result.json", "progress.csv")),
    "lightning": ("csv_logs", "LightningFormat", ("metrics.csv",)),
    "ultralytics": ("csv_logs", "UltralyticsFormat", ("results.csv",)),
    "keras": ("csv_logs", "KerasFormat", (".csv",)),
    "csv": ("csv_logs", "OtherCsvFormat", (".csv",)),  # after every writer with a format of its own
    "jsonl": ("jsonl", "JsonLinesFormat", (".jsonl",)),
    "neptune": ("neptune", "NeptuneFormat", (".parquet",)),
}
_ENDINGS = tuple({ending for _, _, endings in _FORMATS.values() for ending in endings})

#: Writers that log the same numbers as the event files beside them, if there are any.
_BESIDE_EVENTS = ("lightning", "keras", "huggingface", "ray", "ultralytics", "jsonl", "csv")
_CHECKPOINT = "checkpoint-"
_DATABASES = (".db", ".sqlite", ".sqlite3")
_PASSING = ("unreadable", "locked", "changed")  # codes of failures that say nothing about a file's content
_SHORT = 4096  # bytes: a smaller file may be the beginning of a log


def may_be_log(name: str) -> bool:
    """Whether the name of a file is one that logs of other trackers have.

    >>> may_be_log("run-abc.wandb"), may_be_log("model.py")
    (True, False)
    """
    return name.endswith(_ENDINGS)


def format_of(log: Log) -> Format:
    """The format of a log."""
    known: Format = _format(log.format or log.writer)
    return known


@functools.cache
def _format(name: str) -> Any:
    module, kind, _ = _FORMATS[name]
    return getattr(importlib.import_module(f"tbq.source.formats.{module}"), kind)()


class Place(NamedTuple):
    """A directory with files that may be logs: the run that it would be, and whether it has event files."""

    run: str
    folder: str
    files: list[str]
    has_events: bool


class FoundLog(NamedTuple):
    """A log, the name of its run, and how many runs its file has."""

    run: str
    folder: str
    log: Log
    share: int


class Recogniser:
    """Recognises the logs in directories; remembers the files that did not change since."""

    def __init__(self, writers: Collection[str]) -> None:
        self._writers = writers
        self._known: dict[str, tuple[Stamp | None, list[Log], SourceError | None]] = {}
        #: what is not read, and why
        self.notes: list[Problem] = []
        #: what cannot be read
        self.problems: list[Problem] = []
        #: files that are too short to tell what they are, or that hold several runs: they may change
        self.watched: list[str] = []

    def begin(self) -> None:
        """Forget what the last search found out."""
        self.notes, self.problems, self.watched = [], [], []

    def found(self, places: Iterable[Place]) -> list[FoundLog]:
        """The logs in these directories."""
        listed = list(places)
        out: list[FoundLog] = []
        states: dict[str, list[tuple[str, str, Log]]] = {}
        with_events = [place.folder + os.sep for place in listed if place.has_events]
        for place in listed:
            logs = [log for path in sorted(place.files) for log in self.of_file(path, place.has_events)]
            if any(log.path.endswith("progress.csv") for log in logs):  # result.json has all of that
                better = [path for path in place.files if path.endswith("result.json") and self._may_be(path)]
                logs = [log for log in logs if not (better and log.path.endswith("progress.csv"))]
            if place.has_events:
                logs = self._without_doubles(place, logs)
            single = [log for log in logs if not log.key and log.writer != "huggingface"]
            runs_of = Counter(log.path for log in logs)
            for log in logs:
                if log.writer == "huggingface":
                    run, folder = _of_checkpoint(place)
                    states.setdefault(folder, []).append((run, place.folder, log))
                    continue
                stem = os.path.basename(log.path).rsplit(".", 1)[0]
                below = log.run or (stem if not log.key and len(single) > 1 else "")
                name = _joined(_above(place.run, log.up), below)
                out.append(FoundLog(name, place.folder, log, runs_of[log.path]))
        for folder, several in states.items():
            run, _, log = max(several, key=lambda each: _newest(each[1], folder))
            if any(events.startswith(os.path.join(folder, "runs") + os.sep) for events in with_events):
                self._note(log, os.path.join(folder, "runs"))
            else:
                out.append(FoundLog(run, folder, log, 1))
        return out

    def of_file(self, path: str, beside_events: bool = False) -> list[Log]:
        """The logs in a file, of the writers to read. A file that was a log and cannot be read now stays one."""
        parts = [path, path + "-wal"] if path.endswith(_DATABASES) else [path]
        stamp = stamp_of_files(*parts)
        known = self._known.get(path)
        if known is None or known[0] != stamp or known[2] is not None:
            # Opening a named pipe would wait for its writer.
            logs, failure = _recognised(path, self._writers) if os.path.isfile(path) else ([], None)
            if failure is not None and failure.code in _PASSING and known is not None:
                logs = known[1]
            known = self._known[path] = stamp, logs, failure
        _, logs, failure = known
        # If it is one, the reader of its runs reports the failure. Beside event files, it may not matter.
        if failure is not None and not logs and not (beside_events and _is_double(path)):
            self.problems.append(
                Problem("unreadable", "error", failure.message, path=path, hint=failure.hint)
            )
        if any(log.key for log in logs) or (not logs and stamp is not None and stamp[0] < _SHORT):
            self.watched += parts
        return logs

    def _may_be(self, path: str) -> bool:
        """Whether a file is a log, or may become one."""
        return bool(self.of_file(path)) or path in self.watched

    def _without_doubles(self, place: Place, logs: list[Log]) -> list[Log]:
        for log in logs:
            if log.writer in _BESIDE_EVENTS:
                self._note(log, place.folder)
        return [log for log in logs if log.writer not in _BESIDE_EVENTS]

    def _note(self, log: Log, folder: str) -> None:
        name = os.path.basename(folder) or folder
        message = f"is not read: it has the same numbers as the event files in {name}"
        hint = f"to read it: source={log.writer!r}, --source {log.writer}"
        self.notes.append(Problem("two_formats", "info", message, path=log.path, hint=hint))


def _is_double(path: str) -> bool:
    """Whether a file of this name is not read if there are event files beside it."""
    writers = [key.partition("_")[0] for key, (_, _, endings) in _FORMATS.items() if path.endswith(endings)]
    return set(writers) <= set(_BESIDE_EVENTS)


def _recognised(path: str, writers: Collection[str]) -> tuple[list[Log], SourceError | None]:
    from tbq.errors import SourceError

    name = os.path.basename(path)
    for key, (_, _, endings) in _FORMATS.items():
        writer = key.partition("_")[0]
        # The other formats of CSV files come first even if they are not chosen: their logs look like those of `csv`.
        if name.endswith(endings) and (writer in writers or ("csv" in writers and name.endswith(".csv"))):
            try:
                logs = list(_format(key).logs(path))
            except ReplacedError:
                return [], SourceError("changes while it is read", path=path, code="changed")
            except SourceError as failure:
                return [], failure
            except FileNotFoundError:
                return [], None
            except OSError as failure:
                reason = (failure.strerror or str(failure)).lower()
                return [], SourceError(f"cannot be read: {reason}", path=path, code="unreadable")
            if logs:
                return (logs if writer in writers else []), None
    return [], None


def _above(run: str, levels: int) -> str:
    for _ in range(levels):
        run = run.rpartition("/")[0] or "."
    return run


def _joined(run: str, below: str) -> str:
    return run if not below else below if run == "." else f"{run}/{below}"


def _of_checkpoint(place: Place) -> tuple[str, str]:
    """The run and the folder that a checkpoint belongs to."""
    name = os.path.basename(place.folder)
    if not name.startswith(_CHECKPOINT):
        return place.run, place.folder
    above = os.path.dirname(place.folder)
    if place.run == ".":
        return ".", above
    return place.run.rpartition("/")[0] or ".", above


def _newest(folder: str, top: str) -> tuple[bool, list[tuple[int, int, str]]]:
    return folder == top, with_digits(os.path.basename(folder))
