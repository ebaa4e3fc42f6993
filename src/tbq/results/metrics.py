"""Metrics from files other than event files, as the `scalars` table.

One reader per format: Keras `History` and CSVLogger, Lightning's `metrics.csv`, the `trainer_state.json` of
Hugging Face, Ray Tune's `result.json` and `progress.csv`, and the files of `MetricsTable`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.arguments import bad
from tbq.errors import SourceError, UsageError, warn
from tbq.results.checkpoint.parameter import as_text
from tbq.results.metrics_table import read_rows
from tbq.source import is_event_file
from tbq.source.formats.steps import TIME_COLUMNS, StepColumn, filled, number
from tbq.source.formats.text_rows import STEP_COLUMNS, csv_rows, json_rows, side_by_side
from tbq.source.urls import refuse_remote
from tbq.text import shown_name

if TYPE_CHECKING:
    from tbq.table import Table

# File names that do not identify a run, which is then named after its folder.
_PLAIN_NAMES = {"metrics", "progress", "result", "trainer_state", "log", "training", "history"}
# Text that a person reads as a number, such as 1,000 or 50 % or .5e3.
_NUMERAL = re.compile(r"[+-]?(\d[\d.,_' ]*|\.\d+)(e[+-]?\d+)? ?%?", re.IGNORECASE)

Row = Mapping[str, Any]


def is_metrics_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file name is that of a metrics file: `.csv .tsv .json .jsonl .parquet`, but not an event file.

    A `.log`, as in Keras' `CSVLogger("training.log")`, counts if it exists and its first line is text with a comma.
    tbq reads such files only if they are named explicitly, not if they are in a log directory.

    >>> is_metrics_file("lightning_logs/version_0/metrics.csv"), is_metrics_file("events.out.tfevents.1.host")
    (True, False)
    """
    name = Path(path).name.lower()
    if is_event_file(name):
        return False
    return name.endswith((".csv", ".tsv", ".json", ".jsonl", ".parquet")) or (
        name.endswith(".log") and _is_csv_text(path)
    )


def _is_csv_text(path: str | os.PathLike[str]) -> bool:
    try:
        with open(path, "rb") as file:
            first = file.readline(1 << 16)
    except OSError:
        return False
    return b"," in first and b"\0" not in first  # an event file starts with a length, which contains zeros


def metrics(history: Any, *, run: str | None = None, step: str | None = None) -> Table:
    """Metrics as a `scalars` table, one row per value, for use with everything that takes scalars.

    `history` is what `model.fit` returns, a dict of lists, or the path of a CSVLogger file, Lightning's
    `metrics.csv`, a `trainer_state.json`, a `result.json`, a `progress.csv` or a file of `MetricsTable`.
    `run` names the run; by default it is the name of the file, or of its folder if the file has a generic name
    such as `metrics.csv`. `step` names the column with the steps; by default it is the first of `step`,
    `training_iteration`, `global_step` and `epoch` that has a whole number in every row.

    >>> metrics({"loss": [0.5, 0.25], "lr": [0.1, 0.1]}).wide().to_arrow().to_pylist()[1]["loss"]
    0.25
    >>> metrics({"images": [64, 128], "loss": [0.5, 0.25]}, step="images")["step"].tolist()
    [64, 128]
    """
    if isinstance(history, str | os.PathLike):
        path = os.fspath(history)
        refuse_remote(path)
        rows = _of_file(path)
        run = run or _run_name(path)
    else:
        rows = _of_history(history)
    try:
        return _table(rows, run or ".", step)
    except SourceError as error:
        if error.path is None and isinstance(history, str | os.PathLike):
            error.path = os.fspath(history)
        raise


def _run_name(path: str) -> str:
    stem = Path(path).stem
    if stem.lower() in _PLAIN_NAMES:
        stem = Path(path).absolute().parent.name or "."
    return shown_name(stem)


def _table(rows: Sequence[Row], run: str, step: str | None) -> Table:
    """One row per value, from rows with many values; ordered by tag, then as logged."""
    import pyarrow as pa

    from tbq.schema import schema
    from tbq.table import Table

    named, positions = steps_of(rows, step)
    time = next(
        (name for name in TIME_COLUMNS if any(number(row.get(name)) is not None for row in rows)), None
    )
    series: dict[str, tuple[list[int], list[float | None], list[float]]] = {}
    left_out = _LeftOut()
    _warn_of_labels(rows)
    for position, row in zip(positions, rows, strict=True):
        if position is None:
            continue
        wall_time = None if time is None else number(row.get(time))
        for tag, value in row.items():
            if tag in (named, time):
                continue
            real = number(value)
            left_out.note(tag, position, value, real)
            if real is not None:
                steps, times, kept = series.setdefault(tag, ([], [], []))
                steps.append(position)
                times.append(wall_time)
                kept.append(real)
    left_out.report(series)
    if not series:
        raise SourceError(
            "has no metrics: no column or key is numeric", hint="want a number per step or epoch"
        )
    tags = sorted(series)
    label = schema("scalars").field("tag").type
    count = sum(len(series[tag][0]) for tag in tags)
    codes = [code for code, tag in enumerate(tags) for _ in series[tag][0]]
    columns = [
        pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([as_text(run)])),
        pa.DictionaryArray.from_arrays(pa.array(codes, label.index_type), pa.array(list(map(as_text, tags)))),
        pa.array([step for tag in tags for step in series[tag][0]], pa.int64()),
        pa.array([time for tag in tags for time in series[tag][1]], pa.float64()),
        pa.array([value for tag in tags for value in series[tag][2]], pa.float64()),
    ]
    return Table(pa.Table.from_arrays(columns, schema=schema("scalars")), kind="scalars")


def _warn_of_labels(rows: Sequence[Row]) -> None:
    """Warn if rows of several runs or tags, as in tbq's own long layout, become one series."""
    for name in ("run", "tag"):
        labels = {value for row in rows if isinstance(value := row.get(name), str) and number(value) is None}
        if len(labels) > 1:
            warn(
                f"column {name!r} has {len(labels):,} different texts, which tbq does not tell apart: "
                "want one file per run and one column per metric (tbq export --layout wide)"
            )


@dataclass
class _LeftOut:
    """Values that are left out of the table, or rounded: the first of each tag, and how many."""

    texts: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    rounded: dict[str, tuple[Integral, int, int]] = field(default_factory=dict)

    def note(self, tag: str, step: int, value: Any, number: float | None) -> None:
        """Note a value that is text, or an integer that a float64 cannot hold."""
        if isinstance(value, str) and value.strip():
            text, first, count = self.texts.get(tag, (value, step, 0))
            # In a column without numbers, only text that looks like a number matters.
            keep = text if _NUMERAL.fullmatch(text.strip()) else value
            self.texts[tag] = keep, first, count + 1
        elif isinstance(value, Integral) and number != value:
            large, first, count = self.rounded.get(tag, (value, step, 0))
            self.rounded[tag] = large, first, count + 1

    def report(self, series: Mapping[str, object]) -> None:
        """Warn once per tag."""
        for tag, (text, step, count) in self.texts.items():
            if tag in series or _NUMERAL.fullmatch(text.strip()):
                warn(
                    f"metric {tag!r}: {count:,} of its values are left out because they are not numbers, "
                    f"such as {text[:40]!r} (the first at step {step})"
                )
        for tag, (large, step, count) in self.rounded.items():
            warn(
                f"metric {tag!r}: {count:,} integers past 2^53 are rounded to float64, "
                f"such as {str(large)[:40]} at step {step}"
            )


def steps_of(rows: Sequence[Row], chosen: str | None = None) -> tuple[str | None, Sequence[int | None]]:
    """The name of the column with the steps (None if rows are numbered), and the step of each row; see `StepColumn`."""
    name = chosen
    if name is None:
        column = StepColumn()
        column.add_rows(rows)
        name, said = column.choice()
        if said:
            warn(said)
    elif not any(name in row for row in rows):
        raise bad("step", name, "a column: " + ", ".join(dict.fromkeys(key for row in rows for key in row)))
    if name is None:
        return None, list(range(len(rows)))
    steps = filled([row.get(name) for row in rows])
    odd = [number for number, step in enumerate(steps, 1) if step is None]
    if odd:
        first = f"row {odd[0]} has {rows[odd[0] - 1].get(name)!r}"
        warn(f"column {name!r}: {first}, want a whole number of 64 bits: {len(odd):,} such rows are left out")
    return name, steps


def _plain(value: Any) -> Any:
    """The number of an array or tensor of one element, so that an integer stays exact."""
    try:
        return value.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return value


def _of_history(history: Any) -> list[Row]:
    epochs = getattr(history, "epoch", None)
    columns = getattr(history, "history", history)
    if not isinstance(columns, Mapping):
        raise UsageError(
            f"got a {type(history).__name__}, which has no metrics",
            hint="pass what model.fit returned, a dict of lists, or the path of a metrics file",
        )
    lists = {}
    for name, values in columns.items():
        if isinstance(values, str | bytes) or not (
            isinstance(values, Sequence) or hasattr(values, "__len__")
        ):
            raise UsageError(f"metrics {name!r} is a {type(values).__name__}, want a list of numbers")
        if str(name) in lists:
            raise UsageError(f"metrics {str(name)!r} occurs twice, as text and as another type")
        lists[str(name)] = [_plain(value) for value in values]
    if epochs is not None and not any(name in lists for name in STEP_COLUMNS):
        lists["epoch"] = list(epochs)[: max(map(len, lists.values()), default=0)]
    return list(side_by_side(lists))


def _of_file(path: str) -> Sequence[Row]:
    # MetricsTable has only a journal until it first saves.
    if not Path(path).is_file() and not Path(path + ".journal").is_file():
        raise SourceError(
            "is a directory, want a metrics file" if Path(path).is_dir() else "no such file", path=path
        )
    ending = Path(path).suffix.lower()
    if ending in (".csv", ".tsv", ".log"):
        return list(csv_rows(path))
    if ending in (".json", ".jsonl"):
        return list(json_rows(path))
    if ending == ".parquet":
        return read_rows(path)
    raise UsageError(
        f"tbq cannot read metrics from '{ending}' files",
        path=path,
        hint="it reads .csv, .tsv and .log (CSVLogger, Lightning, Ray, MetricsTable), "
        ".json and .jsonl (Hugging Face, Ray) and .parquet (MetricsTable)",
    )
