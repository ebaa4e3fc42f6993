"""Metrics from files other than event files, as the `scalars` table.

One reader per format: Keras `History` and CSVLogger, Lightning's `metrics.csv`, the `trainer_state.json` of
Hugging Face, Ray Tune's `result.json` and `progress.csv`, and the files of `MetricsTable`.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.errors import SourceError, UsageError
from tbq.source import is_event_file
from tbq.source.urls import refuse_remote
from tbq.text import shown_name

if TYPE_CHECKING:
    from tbq.table import Table

# Columns that give the step, the preferred one first.
STEP_COLUMNS = ("step", "training_iteration", "global_step", "epoch")
TIME_COLUMNS = ("wall_time", "timestamp")
# File names that do not identify a run, which is then named after its folder.
_PLAIN_NAMES = {"metrics", "progress", "result", "trainer_state", "log", "training", "history"}
# Keys of Ray that describe a trial and are not metrics.
_NOT_METRICS = {"config", "pid", "trial_id", "date", "hostname", "node_ip", "experiment_id"}
_BLANK = {"", "na", "none", "null"}
_DEPTH = 32

Row = tuple[int | None, float | None, Mapping[str, Any]]


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


def metrics(history: Any, *, run: str | None = None) -> Table:
    """Metrics as a `scalars` table, one row per value, for everything that works on event files.

    `history` is what `model.fit` returns, a dict of lists, or the path of a CSVLogger file, Lightning's
    `metrics.csv`, a `trainer_state.json`, a `result.json`, a `progress.csv` or a file of `MetricsTable`.
    `run` names the run; by default it is the name of the file, or of its folder if the file has a generic name
    such as `metrics.csv`.

    >>> metrics({"loss": [0.5, 0.25], "lr": [0.1, 0.1]}).wide().to_arrow().to_pylist()[1]["loss"]
    0.25
    """
    if isinstance(history, str | os.PathLike):
        path = os.fspath(history)
        refuse_remote(path)
        rows: Iterable[Row] = _of_file(path)
        run = run or _run_name(path)
    else:
        rows = _of_history(history)
    try:
        return _table(rows, run or ".")
    except SourceError as error:
        if error.path is None and isinstance(history, str | os.PathLike):
            error.path = os.fspath(history)
        raise


def _run_name(path: str) -> str:
    stem = Path(path).stem
    if stem.lower() in _PLAIN_NAMES:
        stem = Path(path).absolute().parent.name or "."
    return shown_name(stem)


def _table(rows: Iterable[Row], run: str) -> Table:
    """One row per value, from rows with many values; ordered by tag, then as logged."""
    import pyarrow as pa

    from tbq.results.checkpoint.parameter import as_text
    from tbq.schema import schema
    from tbq.table import Table

    series: dict[str, tuple[list[int], list[float | None], list[float]]] = {}
    for position, (step, wall_time, values) in enumerate(rows):
        for tag, value in values.items():
            number = _number(value)
            if number is not None:
                steps, times, kept = series.setdefault(tag, ([], [], []))
                steps.append(position if step is None else step)
                times.append(wall_time)
                kept.append(number)
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


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, str | bytes):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _of_history(history: Any) -> Iterator[Row]:
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
        lists[str(name)] = list(values)
    numbered = next((name for name in STEP_COLUMNS if name in lists), None)
    for row in range(max(map(len, lists.values()), default=0)):
        values = {
            name: column[row] for name, column in lists.items() if row < len(column) and name != numbered
        }
        if numbered is not None and row < len(lists[numbered]):
            yield _step(lists[numbered][row]), None, values
        else:
            yield (int(epochs[row]) if epochs is not None and row < len(epochs) else row), None, values


def _of_file(path: str) -> Iterable[Row]:
    # MetricsTable has only a journal until it first saves.
    if not Path(path).is_file() and not Path(path + ".journal").is_file():
        raise SourceError(
            "is a directory, want a metrics file" if Path(path).is_dir() else "no such file", path=path
        )
    ending = Path(path).suffix.lower()
    if ending in (".csv", ".tsv", ".log"):
        return _numbered(_csv(path))
    if ending in (".json", ".jsonl"):
        return _numbered(_json(path))
    if ending == ".parquet":
        from tbq.results.metrics_table import read_rows

        return _numbered(read_rows(path))
    raise UsageError(
        f"tbq cannot read metrics from '{ending}' files",
        path=path,
        hint="it reads .csv, .tsv and .log (CSVLogger, Lightning, Ray, MetricsTable), "
        ".json and .jsonl (Hugging Face, Ray) and .parquet (MetricsTable)",
    )


def _numbered(rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Rows with step and time separated; a step column beside a preferred one stays a metric."""
    for row in rows:
        step = next((name for name in STEP_COLUMNS if _step(row.get(name)) is not None), None)
        time = next((name for name in TIME_COLUMNS if _number(row.get(name)) is not None), None)
        values = {name: value for name, value in row.items() if name not in (step, time)}
        yield _step(row[step]) if step else None, _number(row[time]) if time else None, values


def _step(value: Any) -> int | None:
    number = _number(value)
    if number is None or not math.isfinite(number) or abs(number) >= 2**63:
        return None
    return int(number)


def _csv(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            separator = max(",;\t", key=first.count)  # the first wins a tie
            lines = csv.reader(file, delimiter=separator)
            names = next(lines, [])
            if not any(names):
                raise SourceError("no header line", path=path, hint="the first line must name the metrics")
            for line in lines:
                if len(line) > len(names):
                    raise SourceError(
                        f"line {lines.line_num} has {len(line)} cells, the header {len(names)}",
                        path=path,
                        hint="the logger added metrics later; add their names to the header",
                    )
                yield {
                    name: _parsed(cell)
                    for name, cell in zip(names, line, strict=False)
                    if _top(name) not in _NOT_METRICS
                }
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"not a CSV file: {error}", path=path) from None


def _parsed(cell: str) -> float | None:
    text = cell.strip().lower()
    if text in _BLANK:
        return None
    if text in ("true", "false"):
        return float(text == "true")
    try:
        return float(text)
    except ValueError:
        return None


def _json(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise SourceError(f"not a JSON file: {error}", path=path) from None
    try:
        content = json.loads(text)
    except RecursionError:
        raise SourceError("the JSON is nested too deeply", path=path) from None
    except ValueError:
        yield from _json_lines(path, text)
        return
    if isinstance(content, dict) and isinstance(content.get("log_history"), list):
        content = content["log_history"]
    elif isinstance(content, dict) and any(isinstance(value, list) for value in content.values()):
        yield from (dict(values) | {"step": step} for step, _, values in _of_history(_lists(content)))
        return
    for row in content if isinstance(content, list) else [content]:
        if not isinstance(row, dict):
            raise SourceError(f"a row is a {type(row).__name__}, want an object", path=path)
        yield _flat(row)


def _lists(content: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: value for name, value in content.items() if isinstance(value, list)}


def _json_lines(path: str, text: str) -> Iterator[dict[str, Any]]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines) - 1 and number and not text.endswith("\n"):
                return  # still being written
            raise SourceError(f"line {number + 1} is not JSON: {error}", path=path) from None
        if not isinstance(row, dict):
            raise SourceError(f"line {number + 1} is a {type(row).__name__}, want an object", path=path)
        yield _flat(row)


def _flat(row: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested objects as `outer/inner`, as Ray itself writes them to CSV and TensorBoard."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if _top(key) in _NOT_METRICS and not prefix:
            continue
        if isinstance(value, Mapping):
            if depth < _DEPTH:
                flat.update(_flat(value, f"{prefix}{key}/", depth + 1))
        else:
            flat[prefix + key] = value
    return flat


def _top(name: str) -> str:
    return name.split("/", 1)[0]
