"""`MetricsTable`: metrics written row by row while training runs, so that a crash loses nothing.

CSV: a row is one append, handed to the system before `log` returns. When a metric appears that the header
lacks, the file is written anew beside itself with the wider header and the new row, then renamed: at any
moment the file is whole, with the old rows or with the new one too.

Parquet cannot be appended to: its index stands at the end. A row goes to a journal beside the file
(`x.parquet.journal`, a JSON line each, numbered) before `log` returns; the Parquet file is then written anew,
beside and renamed, whenever that costs under a twentieth of the time since it was last done, which for a row
an epoch is each time. A crash leaves a whole Parquet file and at most a journal of the rows past it, which
`resume=True` and `tbq.results.metrics` take in.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.errors import OutputError, SourceError, TbqWarning, UsageError
from tbq.export.target import output, unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Value = float | int | bool | str | None

_SHARE = 20  # a rewrite may take one part in so many of the time


class MetricsTable:
    """A table of metrics on disk: call `log` after each epoch, or give it to Keras as a callback.

    An existing file is refused, or continued with `resume=True`; it is never overwritten. `sync=True` also
    waits for the disk, for machines that lose power.

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

    async_safe = True  # Keras: nothing here needs to wait for a batch

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = False, sync: bool = False) -> None:
        self.path = os.fspath(path)
        ending = Path(path).suffix.lower()
        stores: dict[str, type[_Csv] | type[_Parquet]] = {".csv": _Csv, ".tsv": _Csv, ".parquet": _Parquet}
        if ending not in stores:
            raise UsageError(
                f"no table of metrics in '{ending}' files", path=path, hint="use .csv, .tsv or .parquet"
            )
        self._lock = threading.Lock()
        self._store: _Csv | _Parquet = stores[ending](self.path, resume, sync)

    def log(self, epoch: int | None = None, /, **metrics: Any) -> None:
        """Add a row; it is safe when this returns. Without an epoch the row has only what is named."""
        row = {name: _value(name, value) for name, value in metrics.items()}
        if epoch is not None:
            row = {"epoch": _value("epoch", epoch), **row}
        if not row:
            raise UsageError("log() got no metric", hint="table.log(epoch, loss=0.5)")
        with self._lock:
            self._store.add(row)

    def close(self) -> None:
        """Bring the file up to date: Parquet takes in its journal. Logging may go on after it."""
        with self._lock:
            self._store.close()

    def __enter__(self) -> MetricsTable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What Keras calls on a callback; it asks for nothing else to be one.
    def set_params(self, params: Any) -> None:
        self.params = params

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        self.log(epoch, **(logs or {}))

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        self.close()

    def _implements_train_batch_hooks(self) -> bool:
        return False

    _implements_test_batch_hooks = _implements_predict_batch_hooks = _implements_train_batch_hooks

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):  # the other moments of training, at which there is nothing to do
            return _nothing
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _nothing(*_: object, **__: object) -> None:
    return


def _value(name: str, value: Any) -> Value:
    if value is not None and not isinstance(value, bool | int | float | str) and hasattr(value, "item"):
        try:
            value = value.item()  # NumPy, torch, JAX; TensorFlow below
        except (ValueError, RuntimeError, TypeError):
            raise UsageError(f"metric {name!r} has shape {tuple(value.shape)}, want one number") from None
    elif hasattr(value, "numpy"):
        return _value(name, value.numpy())
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UsageError(f"metric {name!r} is a {type(value).__name__}, want a number")


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(path, error, "the rows there were are kept") from error


def _refuse(path: str) -> OutputError:
    return OutputError(
        "is already there", path=path, hint="resume=True continues it; choose another name for a new table"
    )


def _replace(path: str, data: bytes) -> None:
    """Write beside and rename, on the disk before the name changes."""
    with output(path, force=True, sync=True) as file:
        file.write(data)


def _append(path: str, data: bytes, size: int, sync: bool) -> int:
    """Append in one call to a file of `size` bytes and return its new size; on failure it has its old one."""
    with open(path, "r+b", buffering=0) as file:
        there = file.seek(0, os.SEEK_END)
        if there != size:
            raise OutputError(
                f"has {there} bytes, want {size}: something else writes to it",
                path=path,
                hint="one table, one writer",
            )
        try:
            done = file.write(data)
            if done != len(data):
                raise OSError(f"{done} of {len(data)} bytes were written")
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
        with _told(path):
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
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            warnings.warn(
                f"{self._path}: its last row was not finished and is dropped: "
                f"{data[len(whole) :][:200].decode(errors='replace')!r}",
                TbqWarning,
                stacklevel=5,
            )
        try:
            rows = list(
                csv.reader(io.StringIO(whole.decode("utf-8-sig"), newline=""), delimiter=self._separator)
            )
        except (UnicodeDecodeError, csv.Error) as error:
            raise OutputError(f"is not a CSV file, so not continued: {error}", path=self._path) from None
        self._columns = rows[0] if rows else []
        wide = next((n for n, row in enumerate(rows, 1) if len(row) > len(self._columns)), None)
        if wide is not None or len(set(self._columns)) != len(self._columns):
            what = f"row {wide} is longer than the header" if wide else "a column stands twice in the header"
            raise OutputError(f"is not a table of metrics, so not continued: {what}", path=self._path)
        if whole != data:
            with open(self._path, "r+b") as file:
                file.truncate(len(whole))
        self._size = len(whole)

    def add(self, row: dict[str, Value]) -> None:
        fresh = [name for name in row if name not in self._columns]
        with _told(self._path):
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
                        f"has {len(old)} bytes, want {self._size}: something else writes to it",
                        path=self._path,
                    )
                # The old rows end before the new columns: blank there, their bytes otherwise as they were.
                rows = list(
                    csv.reader(io.StringIO(old.decode("utf-8-sig"), newline=""), delimiter=self._separator)
                )
                padded = [cells + [""] * (len(columns) - len(cells)) for cells in rows[1:]]
                data = self._lines([columns]) + self._lines(padded) + line
            _replace(self._path, data)
            self._columns, self._size = columns, len(data)

    def _lines(self, rows: list[list[str]]) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=self._separator, lineterminator="\n").writerows(rows)
        return text.getvalue().encode()

    def close(self) -> None:
        return


def _text(value: Value) -> str:
    """A value as every text of tbq has it: a float32 in its own digits, `nan`, blank for none."""
    if value is None:
        return ""
    if isinstance(value, float):
        import numpy as np

        with np.errstate(over="ignore"):
            narrow = np.float32(value)
        return str(narrow) if float(narrow) == value else repr(value)
    return str(value)


class _Parquet:
    def __init__(self, path: str, resume: bool, sync: bool) -> None:
        self._path, self._journal, self._sync = path, path + ".journal", sync
        self._rows: list[Mapping[str, Value]] = []
        self._saved = 0  # rows that the Parquet file holds
        self._took, self._last = 0.0, float("-inf")
        with _told(path):
            if os.path.lexists(path) or os.path.lexists(self._journal):
                if not resume:
                    raise _refuse(path)
                try:
                    self._rows, self._saved = _read(path)
                except SourceError as error:
                    raise OutputError(f"is not continued: {error.message}", path=error.path) from None
                lines = b"".join(_line(n, row) for n, row in enumerate(self._rows) if n >= self._saved)
                _replace(self._journal, lines)
                self._size = len(lines)
            else:
                with open(self._journal, "xb"):
                    self._size = 0

    def add(self, row: dict[str, Value]) -> None:
        with _told(self._path):
            if not Path(self._journal).exists():  # closed, and logged to again
                _replace(self._journal, b"")
                self._size = 0
            self._size = _append(self._journal, _line(len(self._rows), row), self._size, self._sync)
            self._rows.append(row)
            if time.monotonic() - self._last >= _SHARE * self._took:
                self._save()

    def _save(self) -> None:
        started = time.monotonic()
        _replace(self._path, _parquet(self._rows))
        self._saved = len(self._rows)
        # A crash between these two leaves lines that the Parquet file has too: their numbers tell.
        with open(self._journal, "r+b") as file:
            file.truncate(0)
        self._size = 0
        self._last = time.monotonic()
        self._took = self._last - started

    def close(self) -> None:
        with _told(self._path):
            if self._saved < len(self._rows):
                self._save()
            with contextlib.suppress(FileNotFoundError):
                Path(self._journal).unlink()


def _line(number: int, row: Mapping[str, Value]) -> bytes:
    return json.dumps([number, dict(row)]).encode() + b"\n"


def _parquet(rows: list[Mapping[str, Value]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: _column([row.get(name) for row in rows]) for name in names})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def _column(values: list[Value]) -> Any:
    """An Arrow array of the narrowest type that holds all: bool, int64, float64 or string."""
    import pyarrow as pa

    found = {type(value) for value in values if value is not None}
    if str in found:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    if found == {bool}:
        return pa.array(values, pa.bool_())
    if float not in found and all(-(2**63) <= int(value) < 2**63 for value in values if value is not None):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _read(path: str) -> tuple[list[Mapping[str, Value]], int]:
    """All rows of a Parquet table of metrics, those of its journal too, and how many the file itself has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[Mapping[str, Value]] = []
    if Path(path).exists():
        try:
            # A column that a row did not have and one that was None are the same here.
            with pq.ParquetFile(path) as file:
                found = file.read().to_pylist()
            rows = [{name: value for name, value in row.items() if value is not None} for row in found]
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"not a Parquet file: {error}", path=path) from None
    saved = len(rows)
    journal = path + ".journal"
    if Path(journal).exists():
        with open(journal, "rb") as pending:
            lines = pending.read().split(b"\n")
        for line in lines[:-1]:  # what follows the last newline was never finished
            try:
                number, row = json.loads(line)
            except (ValueError, TypeError):
                raise SourceError(f"line {line[:80]!r} is not a row", path=journal) from None
            if not isinstance(row, dict):
                raise SourceError(f"line {line[:80]!r} is not a row", path=journal)
            if number == len(rows):
                rows.append(row)
    return rows, saved


def read_rows(path: str) -> list[Mapping[str, Value]]:
    """The rows of a Parquet table of metrics, with those that a crash left in its journal."""
    return _read(path)[0]
