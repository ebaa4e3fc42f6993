"""Neptune's export: Parquet files, one row per value, with several runs per file."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.interface import Format, Log, ReplacedError, Stamp, stamp_of_files
from tbq.source.formats.run_names import part
from tbq.source.formats.sink import Sink, flat
from tbq.text import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

_MAGIC = b"PAR1"
_FOOTER = 1 << 20  # bytes of the footer to look at
_COLUMNS = ("run_id", "attribute_path", "attribute_type", "step", "timestamp")
_VALUES = ("int_value", "float_value", "string_value", "bool_value")
# What pyarrow raises for a damaged file, and what its values raise if they have unexpected types.
_WRONG = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, NotImplementedError, OSError)
_TEXTS = ("run_id", "attribute_path", "attribute_type")  # few different ones


class NeptuneFormat(Format):
    """Recognised by its columns, which the footer names."""

    def logs(self, path: str) -> Iterable[Log]:
        with open(path, "rb") as file:
            if file.read(4) != _MAGIC:
                return []
            size = file.seek(0, 2)
            file.seek(max(4, size - 8))
            tail = file.read(8)
            length = int.from_bytes(tail[:4], "little")
            if tail[4:] != _MAGIC or length > size:
                return []
            file.seek(max(4, size - 8 - min(length, _FOOTER)))
            footer = file.read(min(length, _FOOTER))
        if not all(name.encode() in footer for name in (*_COLUMNS, *_VALUES)):
            return []
        runs: dict[str, None] = {}
        try:
            for batch in _opened(path).iter_batches(columns=["run_id"]):
                runs.update(dict.fromkeys(batch.column(0).unique().to_pylist()))
        except _WRONG as wrong:
            raise _refused(path, wrong) from None
        named = [str(run) for run in runs if run is not None]
        return [Log("neptune", path, part(run), run, unique=run) for run in named]

    def translator(self, log: Log) -> _Neptune:
        return _Neptune(log)


def _opened(path: str) -> parquet.ParquetFile:
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path, read_dictionary=list(_TEXTS))
    except _WRONG as wrong:
        raise _refused(path, wrong) from None


def _refused(path: str, wrong: Exception) -> SourceError:
    return SourceError(
        f"is a Parquet file that cannot be read: {wrong}", path=path, hint="copy it again", code="parquet"
    )


@functools.lru_cache(maxsize=1)
def _group(path: str, _stamp: Stamp | None, number: int) -> pa.Table:
    """A row group, which usually has the rows of many runs. They are read one after the other."""
    return _opened(path).read_row_group(number, columns=[*_COLUMNS, *_VALUES]).unify_dictionaries()


class _Neptune:
    """An export does not grow: if it changes, it is read anew."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._done = False
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        if self._done:
            raise ReplacedError
        path = self._log.path
        stamp = stamp_of_files(path)
        config: dict[str, Any] = {}
        rounded = 0
        try:
            metadata = _opened(path).metadata
            for number in range(metadata.num_row_groups):
                if _may_have(metadata.row_group(number), self._log.key):
                    rounded += _add(_group(path, stamp, number), self._log.key, config, sink)
        except _WRONG as wrong:  # a column is missing, or has another type
            raise _refused(path, wrong) from None
        if config:
            sink.hparams(flat(config, ["sys/ping_time"]), 0.0)
        if rounded:
            message = f"{counted(rounded, 'step')} rounded down to a whole number"
            self.problems = [Problem("steps", "info", message, path=self._log.name)]
        self._done = True


def _may_have(group: parquet.RowGroupMetaData, run: str) -> bool:
    """Whether a row group may have rows of a run, by the smallest and the largest name in it."""
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema == "run_id":
            known = column.statistics if column.is_stats_set else None
            return known is None or not known.has_min_max or str(known.min) <= run <= str(known.max)
    return True


def _add(group: pa.Table, run: str, config: dict[str, Any], sink: Sink) -> int:
    """Add the rows of a run; returns how many steps had to be rounded."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute

    rows = group.filter(compute.equal(group["run_id"], run)).filter(
        compute.field("attribute_path").is_valid()
    )
    kinds = rows["attribute_type"]
    series = rows.filter(compute.equal(kinds, "float_series"))
    steps = series["step"].cast(pa.float64()).fill_null(0.0).to_numpy()
    paths = series["attribute_path"].combine_chunks()
    if len(series):
        times = series["timestamp"].cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64(), safe=False)
        sink.rows(
            [name.strip("/") for name in paths.dictionary.to_pylist()],
            paths.indices.to_numpy().astype(np.int32),
            np.floor(steps).astype(np.int64),
            times.fill_null(math.nan).to_numpy() / 1e6,
            np.ascontiguousarray(series["float_value"].fill_null(math.nan).to_numpy()),
        )
    rounded = int((steps != np.floor(steps)).sum())
    others = rows.filter(compute.not_equal(kinds, "float_series"))
    for row in others.to_pylist():
        tag = row["attribute_path"].strip("/")
        value = next((row[name] for name in _VALUES if row[name] is not None), None)
        if row["attribute_type"] != "string_series":
            if value is not None:
                config[tag] = value
        elif isinstance(value, str):
            at = math.floor(row["step"] or 0)
            rounded += at != (row["step"] or 0)
            sink.text(tag, value, at, row["timestamp"].timestamp() if row["timestamp"] else math.nan)
    return rounded
