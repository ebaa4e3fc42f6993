"""Reads the rows of metrics files in CSV and JSON. Numbers are exact; text stays text."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import string
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tbq.errors import SourceError, warn

# Columns that give the step, the preferred one first.
STEP_COLUMNS = ("step", "training_iteration", "global_step", "epoch")
SEPARATORS = ",;\t"
# Keys of Ray that describe a trial and are not metrics, if one of them is its number.
_TRIAL = "trial_id"
NOT_METRICS = {"config", "pid", _TRIAL, "date", "hostname", "node_ip", "experiment_id"}
_BLANK = {"", "na", "none", "null"}
_NONFINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.ASCII)
_WHOLE = re.compile(r"([+-]?\d{16,})(\.0*)?")  # from 2^53 on, a float64 may not be exact
_LONGEST = 500  # characters of a number
_DEPTH = 32


def csv_rows(path: str) -> Iterator[dict[str, Any]]:
    """One row per line. The separator of a `.tsv` file is the tab, else it is found out."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            text = file.read()
        separator = "\t" if path.lower().endswith(".tsv") else _separator(text)
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        names = next(lines, [])
        if not any(names):
            raise SourceError("no header line", path=path, hint="the first line must name the metrics")
        twice = {name for name in names if names.count(name) > 1}
        rows = [(lines.line_num, row) for row in lines]
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"not a CSV file: {error}", path=path) from None
    if rows and 0 < len(rows[-1][1]) < len(names) and not text.endswith(("\n", "\r")):
        _, row = rows.pop()
        warn(f"{path}: the last line has {len(row)} of {len(names)} cells and is left out as unfinished")
    for number, row in rows:
        if len(row) > len(names):
            raise SourceError(
                f"line {number} has {len(row)} cells, the header {len(names)}",
                path=path,
                hint="the logger added metrics later; add their names to the header",
            )
        cells = [(name, cell) for name, cell in zip(names, row, strict=False) if not _describes(name, names)]
        for name, cell in cells:
            if name in twice and cell.strip():
                raise _twice(name, path)
        yield {name: parsed(cell) for name, cell in cells}


def _separator(text: str) -> str:
    """The separator by which header and first row have equally many cells; else the one with the longest header."""

    def cells(separator: str) -> tuple[bool, int]:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        names, row = next(lines, []), next(lines, [])
        return len(names) == len(row) > 1, len(names)

    return max(SEPARATORS, key=cells)  # the first wins a tie


def _twice(name: str, path: str) -> SourceError:
    return SourceError(
        f"has {name!r} twice", path=path, hint="rename one of them: each needs a name of its own"
    )


def parsed(cell: str) -> float | str | None:
    """A cell as a number, None if it is blank, or the text itself. The core reads columns by the same rule."""
    text = cell.strip(string.whitespace).lower()
    if text in _BLANK:
        return None
    if text in ("true", "false"):
        return float(text == "true")
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return cell
    digits = _WHOLE.fullmatch(text)
    if digits:
        return int(digits[1])
    number = float(text)
    return number if math.isfinite(number) or "n" in text else cell  # 1e999 is not infinite


def json_rows(path: str) -> Iterator[dict[str, Any]]:
    """One row per object of a list, of `log_history` or per line; or one per position of lists side by side."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"not a JSON file: {error}", path=path) from None
    try:
        content = loads(text, path)
    except RecursionError:
        raise SourceError("the JSON is nested too deeply", path=path) from None
    except ValueError:
        yield from _json_lines(path, text)
        return
    if isinstance(content, dict) and isinstance(content.get("log_history"), list):
        content = content["log_history"]
    elif isinstance(content, dict) and _is_columns(content):
        yield from _side_by_side(content, path)
        return
    for row in content if isinstance(content, list) else [content]:
        if not isinstance(row, dict):
            raise SourceError(f"a row is a {type(row).__name__}, want an object", path=path)
        yield flat_row(row, path)


def _is_columns(content: Mapping[str, Any]) -> bool:
    """Whether an object has lists as columns. An object with lists and a step of its own is a row."""
    return any(isinstance(value, list) for value in content.values()) and not any(
        isinstance(content.get(name), int | float) for name in STEP_COLUMNS
    )


def _side_by_side(content: Mapping[str, Any], path: str) -> Iterator[dict[str, Any]]:
    lists = {name: value for name, value in content.items() if isinstance(value, list)}
    single = [name for name, value in content.items() if isinstance(value, int | float)]
    if single:
        others = f", and {len(single) - 1} more" if len(single) > 1 else ""
        warn(f"{path}: {single[0]!r} is one number beside lists and is left out{others}")
    yield from side_by_side(lists)


def side_by_side(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Columns as rows; a shorter column ends earlier."""
    for row in range(max(map(len, columns.values()), default=0)):
        yield {name: column[row] for name, column in columns.items() if row < len(column)}


def _json_lines(path: str, text: str) -> Iterator[dict[str, Any]]:
    lines = text.split("\n")  # a JSON string may contain every other line separator of Unicode
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = loads(line, path)
        except (ValueError, RecursionError) as error:
            if 1 < number == len(lines):
                return  # still being written
            raise SourceError(f"line {number} is not JSON: {error}", path=path) from None
        if not isinstance(row, dict):
            raise SourceError(f"line {number} is a {type(row).__name__}, want an object", path=path)
        yield flat_row(row, path)


def loads(text: str, path: str) -> Any:
    """JSON; an error if an object has a key twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) != len(pairs):
            names = [name for name, _ in pairs]
            raise _twice(next(name for name in names if names.count(name) > 1), path)
        return content

    def in_range(digits: str) -> float | str:
        return float(digits) if math.isfinite(float(digits)) else digits

    return json.loads(text, object_pairs_hook=unique, parse_float=in_range)


def flat_row(row: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Nested objects as `outer/inner`, as Ray itself writes them to CSV and TensorBoard."""
    flat: dict[str, Any] = {}

    def add(part: Mapping[str, Any], prefix: str, depth: int) -> None:
        for key, value in part.items():
            if not prefix and _describes(key, row):
                continue
            if isinstance(value, Mapping):
                if depth < _DEPTH:
                    add(value, f"{prefix}{key}/", depth + 1)
            elif prefix + key in flat:
                raise _twice(prefix + key, path)
            else:
                # tbq and JavaScript write these words for numbers that JSON cannot express.
                flat[prefix + key] = _NONFINITE.get(value, value) if isinstance(value, str) else value

    add(row, "", 0)
    return flat


def _describes(name: str, names: Container[str]) -> bool:
    """Whether a column or key describes a trial of Ray; `names` are those beside it."""
    return _TRIAL in names and name.split("/", 1)[0] in NOT_METRICS
