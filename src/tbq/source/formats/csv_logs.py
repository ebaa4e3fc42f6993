"""CSV logs: Lightning's CSVLogger, Keras' CSVLogger, Ultralytics, and those of other training loops."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import os
from collections.abc import Iterable, Mapping

from tbq.roles import is_metric, tells_repeats
from tbq.source.formats.csv_table import CsvTable
from tbq.source.formats.flat_yaml import flat_yaml
from tbq.source.formats.interface import Format, Log
from tbq.source.formats.steps import TIME_COLUMNS, step
from tbq.source.formats.text_rows import STEP_COLUMNS, parsed

_HEAD = 1 << 16
_UNIX_TIME = 10**9  # no training begins at such a step; seconds since 1970 do

Cell = float | str | None


def head_of(path: str) -> tuple[list[str], list[str]]:
    """The names and the first row of a CSV file; empty lists if it is not one."""
    with open(path, "rb") as file:
        head = file.readline(_HEAD)
        line = file.readline(_HEAD) if b"," in head else b""
    if not line.endswith(b"\n") or b"\0" in head + line:
        return [], []
    try:
        text = (head + line).decode("utf-8-sig")
        names, row = list(csv.reader(io.StringIO(text, newline="")))[:2]
    except (UnicodeDecodeError, csv.Error, ValueError):
        return [], []
    names = [name.strip() for name in names]
    is_regular = len(names) == len(row) and all(names) and len(set(names)) == len(names)
    return (names, row) if is_regular else ([], [])


class _CsvFormat(Format):
    writer = ""
    hparams = ""  # the file with the hyperparameters beside it

    def is_log(self, first: Mapping[str, Cell]) -> bool:
        """Whether a table is a log, judged by its columns and their first cells."""
        raise NotImplementedError

    def logs(self, path: str) -> Iterable[Log]:
        names, row = head_of(path)
        first = dict(zip(names, map(parsed, row), strict=True))
        return [Log(self.writer, path, format=self.writer)] if first and self.is_log(first) else []

    def translator(self, log: Log) -> CsvTable:
        hparams = {}
        if self.hparams:
            with contextlib.suppress(OSError):  # the numbers can be read without them
                hparams = flat_yaml(os.path.join(os.path.dirname(log.path), self.hparams))
        return CsvTable(log.path, hparams)


def _has_texts(first: Mapping[str, Cell]) -> bool:
    return any(isinstance(cell, str) for cell in first.values())


class LightningFormat(_CsvFormat):
    """`metrics.csv` with steps and numbers."""

    writer = "lightning"
    hparams = "hparams.yaml"

    def is_log(self, first: Mapping[str, Cell]) -> bool:
        numbers = [name for name, cell in first.items() if not isinstance(cell, str)]
        return "step" in numbers and len(numbers) > 1


class UltralyticsFormat(_CsvFormat):
    """`results.csv` with epochs, and metrics named by their part of the training."""

    writer = "ultralytics"
    hparams = "args.yaml"

    def is_log(self, first: Mapping[str, Cell]) -> bool:
        metrics = any(name.startswith(("train/", "metrics/")) for name in first)
        return next(iter(first)) == "epoch" and metrics and not _has_texts(first)


class KerasFormat(_CsvFormat):
    """Epochs first, then the metrics in order, with the loss among them."""

    writer = "keras"

    def is_log(self, first: Mapping[str, Cell]) -> bool:
        epoch, *metrics = first
        return epoch == "epoch" and metrics == sorted(metrics) and "loss" in metrics and not _has_texts(first)


class OtherCsvFormat(_CsvFormat):
    """Any other table of numbers by steps with a loss or a score, as training loops write it.

    A table of several runs has a column that tells them apart, often before the step. An `epoch` may be a Unix time.
    """

    writer = "csv"

    def is_log(self, first: Mapping[str, Cell]) -> bool:
        metrics = set(filter(is_metric, first))
        positions = {*STEP_COLUMNS, *TIME_COLUMNS}
        leading = itertools.takewhile(lambda name: name in metrics | positions, first)
        steps = [step(first[name]) for name in leading if name in STEP_COLUMNS]
        return (
            any(known is not None and 0 <= known < _UNIX_TIME for known in steps)
            and bool(metrics)
            and any(cell is not None for name, cell in first.items() if name not in positions)
            and not _has_texts(first)
            and not any(map(tells_repeats, first))
        )
