"""CSV logs: Lightning's CSVLogger, Keras' CSVLogger, Ultralytics."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Iterable

from tbq.source.formats.csv_table import CsvTable
from tbq.source.formats.flat_yaml import flat_yaml
from tbq.source.formats.interface import Format, Log
from tbq.source.formats.text_rows import parsed

_HEAD = 1 << 16


def head_of(path: str) -> tuple[list[str], list[str]]:
    """The names and the first row of a CSV file; empty lists if it is not one."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    lines = head.split(b"\n", 2)
    if len(lines) < 3 or b"\0" in head or b"," not in lines[0]:
        return [], []
    try:
        text = (lines[0] + b"\n" + lines[1]).decode("utf-8-sig")
        names, row = list(csv.reader(io.StringIO(text, newline="")))[:2]
    except (UnicodeDecodeError, csv.Error, ValueError):
        return [], []
    names = [name.strip() for name in names]
    is_regular = len(names) == len(row) and all(names) and len(set(names)) == len(names)
    return (names, row) if is_regular else ([], [])


class _CsvFormat(Format):
    writer = ""
    hparams = ""  # the file with the hyperparameters beside it

    def is_log(self, names: list[str]) -> bool:
        """Whether a table of numbers with these columns is a log."""
        raise NotImplementedError

    def logs(self, path: str) -> Iterable[Log]:
        names, row = head_of(path)
        texts = {name for name, cell in zip(names, row, strict=True) if isinstance(parsed(cell), str)}
        is_log = bool(names) and self.is_log(names) and self.may_be_texts(names, texts)
        return [Log(self.writer, path, format=self.writer)] if is_log else []

    def may_be_texts(self, _names: list[str], texts: set[str]) -> bool:
        """Whether these columns of a log may begin with a text."""
        return not texts

    def translator(self, log: Log) -> CsvTable:
        hparams = {}
        if self.hparams:
            with contextlib.suppress(OSError):  # the numbers can be read without them
                hparams = flat_yaml(os.path.join(os.path.dirname(log.path), self.hparams))
        return CsvTable(log.path, hparams)


class LightningFormat(_CsvFormat):
    """`metrics.csv` with steps and numbers."""

    writer = "lightning"
    hparams = "hparams.yaml"

    def is_log(self, names: list[str]) -> bool:
        return "step" in names and len(names) > 1

    def may_be_texts(self, names: list[str], texts: set[str]) -> bool:
        return "step" not in texts and len(names) - len(texts) > 1


class UltralyticsFormat(_CsvFormat):
    """`results.csv` with epochs, and metrics named by their part of the training."""

    writer = "ultralytics"
    hparams = "args.yaml"

    def is_log(self, names: list[str]) -> bool:
        return names[0] == "epoch" and any(name.startswith(("train/", "metrics/")) for name in names)


class KerasFormat(_CsvFormat):
    """Epochs first, then the metrics in order, with the loss among them."""

    writer = "keras"

    def is_log(self, names: list[str]) -> bool:
        return names[0] == "epoch" and names[1:] == sorted(names[1:]) and "loss" in names
