"""`MetricsTable`: metrics written row by row during training, so that a crash loses nothing.

CSV: each row is appended in one write before `log` returns. If a metric is new, a file with the wider header and
the new row is written beside the old one and renamed: at any moment the file is complete, with or without the
new row.

Parquet files cannot be appended to, because their index is at the end. Each row goes to a journal beside the file
(`x.parquet.journal`, one numbered JSON line per row) before `log` returns. The Parquet file is rewritten (a new file
beside it is renamed) whenever that takes less than a twentieth of the time since the last rewrite; with one row per
epoch that is every time. A crash leaves a complete Parquet file and at most a journal of later rows, which
`resume=True` and `tbq.results.metrics` read.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tbq.errors import OutputError, SourceError, UsageError, warn
from tbq.export.target import output, unwritable
from tbq.results.checkpoint.parameter import as_text
from tbq.source.formats.text_rows import SEPARATORS
from tbq.source.urls import refuse_remote

Value = float | int | bool | str | None

_SHARE = 20  # rewriting may take a twentieth of the time


class MetricsTable:
    """A table of metrics on disk: call `log` after each epoch, or pass it to Keras as a callback.

    An existing file is an error, or is continued with `resume=True`; it is never overwritten. `sync=True` also
    waits for the disk, in case of a power failure.

    >>> import pathlib, tempfile, tbq
    >>> path = pathlib.Path(tempfile.mkdtemp(), "metrics.csv")
    >>> table = tbq.results.MetricsTable(path)
    >>> table.log(0, loss=0.5)
    >>> table.log(1, loss=0.25, val_loss=0.3)
    >>> print(path.read_text(), end="")
    epoch,loss,val_loss
    0,0.5,
    1,0.25,0.3
    """

    async_safe = True  # Keras: no need to wait for the end of a batch

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = False, sync: bool = False) -> None:
        self.path = os.fspath(path)
        ending = Path(path).suffix.lower()
        stores: dict[str, type[_Csv] | type[_Parquet]] = {".csv": _Csv, ".tsv": _Csv, ".parquet": _Parquet}
        if ending not in stores:
            raise UsageError(
                f"tbq cannot write metrics to '{ending}' files", path=path, hint="use .csv, .tsv or .parquet"
            )
        refuse_remote(path, OutputError)
        self._lock = threading.Lock()
        self._store: _Csv | _Parquet = stores[ending](self.path, resume, sync)

    def log(self, epoch: int | None = None, /, **metrics: Any) -> None:
        """Add a row. It is stored when this returns. Without an epoch it has only the named metrics.

        >>> table = tbq.results.MetricsTable("metrics.csv")
        >>> table.log(0, loss=0.5, lr=0.1)
        """
        row = {as_text(name): _value(name, value) for name, value in metrics.items()}
        if epoch is not None:
            number = _value("epoch", epoch)
            if row.get("epoch", number) != number:
                raise UsageError(
                    f"the row has two epochs: log({number}, epoch={row['epoch']})",
                    hint=f"name both: log(step={number}, epoch={row['epoch']}, …)",
                )
            row = {"epoch": number} | row
        if not row:
            raise UsageError("log() got no metrics", hint="table.log(epoch, loss=0.5)")
        with self._lock:
            self._store.add(row)

    def close(self) -> None:
        """Finish the file: a Parquet file absorbs its journal. You may log more afterwards.

        >>> table = tbq.results.MetricsTable("metrics.parquet")
        >>> table.log(0, loss=0.5)
        >>> table.close()
        """
        with self._lock:
            self._store.close()

    def __enter__(self) -> MetricsTable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def set_params(self, params: Any) -> None:
        """Called by Keras: keeps its parameters."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Called by Keras: keeps the model."""
        self.model = model

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Called by Keras: logs the metrics of an epoch."""
        metrics = dict(logs or {})
        if "epoch" in metrics:  # a metric; an error would end the training
            self.log(**{"step": epoch, **metrics})
        else:
            self.log(epoch, **metrics)

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Called by Keras: closes the file."""
        self.close()

    def _implements_train_batch_hooks(self) -> bool:
        return False

    _implements_test_batch_hooks = _implements_predict_batch_hooks = _implements_train_batch_hooks

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):  # the other hooks of Keras do nothing
            return lambda *_, **__: None
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _value(name: str, value: Any) -> Value:
    if value is not None and not isinstance(value, bool | int | float | str) and hasattr(value, "item"):
        try:
            value = value.item()  # NumPy, torch, JAX; TensorFlow below
        except (ValueError, RuntimeError, TypeError):
            raise UsageError(
                f"metric {name!r} has shape {tuple(value.shape)}, want a single number"
            ) from None
    elif hasattr(value, "numpy"):
        return _value(name, value.numpy())
    if isinstance(value, int) and abs(value) >= 2**1023:
        raise UsageError(f"metric {name!r} is an integer of {value.bit_length()} bits, want at most 1023")
    if value is None or isinstance(value, bool):
        return value
    for plain in (int, float):
        if isinstance(value, plain):
            return plain(value)  # numpy.float64 is a float whose text is not a number
    if isinstance(value, str):
        return as_text(value)
    raise UsageError(f"metric {name!r} is a {type(value).__name__}, want a number")


@contextlib.contextmanager
def _write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(path, error, "earlier rows are kept") from error


def _refuse(path: str) -> OutputError:
    return OutputError(
        "already exists", path=path, hint="continue it with resume=True, or choose another name"
    )


def _replace(path: str, data: bytes) -> None:
    """Write a new file beside the old one, sync it to disk, then rename it."""
    with output(path, force=True, sync=True) as file:
        file.write(data)


def _append(path: str, data: bytes, size: int, sync: bool) -> int:
    """Append in one call to a file of `size` bytes and return its new size; a failure restores the old size."""
    with open(path, "r+b", buffering=0) as file:
        actual = file.seek(0, os.SEEK_END)
        if actual != size:
            raise OutputError(
                f"has {actual} bytes, want {size}: another program writes to it",
                path=path,
                hint="let only one program write to it",
            )
        try:
            done = file.write(data)
            if done != len(data):
                raise OSError(f"only {done} of {len(data)} bytes were written")
            if sync:
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                file.truncate(size)
            raise
    return size + len(data)


class _Csv:
    def __init__(self, path: str, resume: bool, sync: bool) -> None:
        self._path, self._sync = path, sync
        self._separator = "\t" if path.lower().endswith(".tsv") else ","
        self._columns: list[str] = []
        with _write_errors(path):
            try:
                with open(path, "xb"):
                    self._size = 0
            except FileExistsError:
                if not resume:
                    raise _refuse(path) from None
                self._continue()

    def _continue(self) -> None:
        with open(self._path, "rb") as file:
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]
        if complete != data:
            rest = data[len(complete) :][:200].decode(errors="replace")
            warn(f"{self._path}: dropping its unfinished last row: {rest!r}")
        try:
            rows = self._parsed(complete)
        except (UnicodeDecodeError, csv.Error) as error:
            raise OutputError(
                f"cannot be continued, as it is not a CSV file: {error}", path=self._path
            ) from None
        self._columns = rows[0] if rows else []
        wide = next((n for n, row in enumerate(rows, 1) if len(row) > len(self._columns)), None)
        if wide is not None or len(set(self._columns)) != len(self._columns):
            what = f"row {wide} is longer than the header" if wide else "a column occurs twice in the header"
            raise OutputError(
                f"cannot be continued, as it is not a table of metrics: {what}", path=self._path
            )
        if complete != data:
            with open(self._path, "r+b") as file:
                file.truncate(len(complete))
        self._size = len(complete)

    def add(self, row: dict[str, Value]) -> None:
        fresh = [name for name in row if name not in self._columns]
        with _write_errors(self._path):
            columns = self._columns + fresh
            line = self._lines([[_text(row.get(name)) for name in columns]])
            if not fresh:
                self._size = _append(self._path, line, self._size, self._sync)
                return
            data = self._lines([columns]) + line
            if self._columns:
                with open(self._path, "rb") as file:
                    old = file.read()
                if len(old) != self._size:
                    raise OutputError(
                        f"has {len(old)} bytes, want {self._size}: another program writes to it",
                        path=self._path,
                    )
                # In the new columns the old rows are blank; otherwise they stay as they are.
                padded = [cells + [""] * (len(columns) - len(cells)) for cells in self._parsed(old)[1:]]
                data = self._lines([columns, *padded]) + line
            _replace(self._path, data)
            self._columns, self._size = columns, len(data)

    def _parsed(self, data: bytes) -> list[list[str]]:
        text = io.StringIO(data.decode("utf-8-sig"), newline="")
        return list(csv.reader(text, delimiter=self._separator))

    def _lines(self, rows: list[list[str]]) -> bytes:
        """Quotes a row with a character that readers, but not Python's writer, could take for a separator."""
        text = io.StringIO()
        plain, quoted = (
            csv.writer(text, delimiter=self._separator, lineterminator="\n", quoting=quoting)
            for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
        )
        confusing = f"{SEPARATORS}\r".replace(self._separator, "")
        for row in rows:
            odd = any(each in cell for cell in row for each in confusing)
            (quoted if odd else plain).writerow(row)
        return text.getvalue().encode()

    def close(self) -> None:
        return


def _text(value: Value) -> str:
    """A value as in all text output of tbq: a float32 in its shortest form, `nan`, blank for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            narrow = np.float32(value)
        return str(narrow) if float(narrow) == value else repr(value)
    return str(value)


class _Parquet:
    def __init__(self, path: str, resume: bool, sync: bool) -> None:
        self._path, self._journal, self._sync = path, path + ".journal", sync
        self._rows: list[Mapping[str, Value]] = []
        self._saved = 0  # rows in the Parquet file
        self._rounded: set[str] = set()  # columns that were reported as rounded
        self._took, self._last = 0.0, float("-inf")
        with _write_errors(path):
            if os.path.lexists(path) or os.path.lexists(self._journal):
                if not resume:
                    raise _refuse(path)
                try:
                    self._rows, self._saved = _read(path)
                except SourceError as error:
                    raise OutputError(f"cannot be continued: {error.message}", path=error.path) from None
                lines = b"".join(_line(n, row) for n, row in enumerate(self._rows) if n >= self._saved)
                _replace(self._journal, lines)
                self._size = len(lines)
            else:
                with open(self._journal, "xb"):
                    self._size = 0

    def add(self, row: dict[str, Value]) -> None:
        with _write_errors(self._path):
            if not Path(self._journal).exists():  # logging again after close
                _replace(self._journal, b"")
                self._size = 0
            self._size = _append(self._journal, _line(len(self._rows), row), self._size, self._sync)
            self._rows.append(row)
            if time.monotonic() - self._last >= _SHARE * self._took:
                self._save()

    def _save(self) -> None:
        started = time.monotonic()
        _replace(self._path, _parquet(self._rows, self._path, self._rounded))
        self._saved = len(self._rows)
        # A crash before the truncation leaves lines that the Parquet file already has; readers skip them by number.
        with open(self._journal, "r+b") as file:
            file.truncate(0)
        self._size = 0
        self._last = time.monotonic()
        self._took = self._last - started

    def close(self) -> None:
        with _write_errors(self._path):
            if self._saved < len(self._rows):
                self._save()
            with contextlib.suppress(FileNotFoundError):
                Path(self._journal).unlink()


def _line(number: int, row: Mapping[str, Value]) -> bytes:
    return json.dumps([number, dict(row)]).encode() + b"\n"


def _parquet(rows: list[Mapping[str, Value]], path: str, rounded: set[str]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        columns[name] = _column(values)
        if pa.types.is_floating(columns[name].type) and name not in rounded:
            large = next((n for n in values if isinstance(n, int) and float(n) != n), None)
            if large is not None:
                rounded.add(name)
                warn(
                    f"{path}: metric {name!r} is stored as float64, which rounds {large}; .csv keeps it exactly"
                )
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def _column(values: list[Value]) -> Any:
    """An Arrow array of the narrowest type for all values: bool, int64, float64 or string."""
    import pyarrow as pa

    types = {type(value) for value in values if value is not None}
    if str in types:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    if types == {bool}:
        return pa.array(values, pa.bool_())
    if float not in types and all(-(2**63) <= int(value) < 2**63 for value in values if value is not None):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _read(path: str) -> tuple[list[Mapping[str, Value]], int]:
    """All rows of a Parquet table of metrics and its journal, and how many of them the file itself has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[Mapping[str, Value]] = []
    if Path(path).exists():
        try:
            # A None is the same as a missing column.
            with pq.ParquetFile(path) as file:
                names = file.schema_arrow.names
                twice = next((name for name in names if names.count(name) > 1), None)
                if twice is not None:
                    raise SourceError(f"has {twice!r} twice", path=path, hint="rename one of the columns")
                stored = file.read().to_pylist()
            rows = [{name: value for name, value in row.items() if value is not None} for row in stored]
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"not a Parquet file: {error}", path=path) from None
    saved = len(rows)
    journal = path + ".journal"
    if Path(journal).exists():
        with open(journal, "rb") as pending:
            lines = pending.read().split(b"\n")
        for line in lines[:-1]:  # the text after the last newline is unfinished
            try:
                number, row = json.loads(line)
                if number == len(rows):
                    rows.append({**row})
            except (ValueError, TypeError):
                raise SourceError(f"line {line[:80]!r} is not a row", path=journal) from None
    return rows, saved


def read_rows(path: str) -> list[Mapping[str, Value]]:
    """The rows of a Parquet table of metrics, including those that a crash left in its journal."""
    return _read(path)[0]
