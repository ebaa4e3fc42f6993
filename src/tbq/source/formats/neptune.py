"""Neptune's export: Parquet files, one row per value, with several runs per file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.source.formats.interface import Format, Log, ReplacedError
from tbq.source.formats.run_names import part
from tbq.source.formats.single_values import SingleValues
from tbq.source.formats.sink import Sink, flat

if TYPE_CHECKING:
    from pyarrow import parquet

_MAGIC = b"PAR1"
_FOOTER = 1 << 20  # bytes of the footer to look at
_COLUMNS = ("run_id", "attribute_path", "attribute_type", "step", "timestamp")
_VALUES = ("int_value", "float_value", "string_value", "bool_value")
_SERIES = ("float_series", "string_series")


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
        for batch in _opened(path).iter_batches(columns=["run_id"]):
            runs.update(dict.fromkeys(batch.column(0).to_pylist()))
        named = [str(run) for run in runs if run is not None]
        return [Log("neptune", path, part(run), run, unique=run) for run in named]

    def translator(self, log: Log) -> _Neptune:
        return _Neptune(log)


def _opened(path: str) -> parquet.ParquetFile:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as wrong:
        raise SourceError(
            f"is a Parquet file that cannot be read: {wrong}", path=path, hint="copy it again", code="parquet"
        ) from None


class _Neptune:
    """An export does not grow: if it changes, it is read anew."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._done = False
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        import pyarrow as pa

        if self._done:
            raise ReplacedError
        path = self._log.path
        config: dict[str, Any] = {}
        rounded = 0
        try:
            for batch in _opened(path).iter_batches(columns=[*_COLUMNS, *_VALUES]):
                several = SingleValues()
                for run, name, kind, step, when, *values in zip(
                    *(column.to_pylist() for column in batch.columns), strict=True
                ):
                    if run != self._log.key or name is None:
                        continue
                    value = next((value for value in values if value is not None), None)
                    tag = str(name).strip("/")
                    if kind not in _SERIES:
                        if value is not None:
                            config[tag] = value
                        continue
                    at = math.floor(step) if step is not None else 0
                    rounded += step is not None and at != step
                    time = when.timestamp() if when is not None else math.nan
                    if isinstance(value, str):
                        several.write(sink)
                        sink.text(tag, value, at, time)
                    elif kind == "float_series":
                        several.add([tag], [at], [time], [math.nan if value is None else float(value)])
                several.write(sink)
        except (pa.ArrowException, ValueError, OverflowError) as wrong:
            raise SourceError(
                f"cannot be read: {wrong}", path=path, hint="copy it again", code="parquet"
            ) from None
        if config:
            sink.hparams(flat(config, ["sys/ping_time"]), 0.0)
        if rounded:
            message = f"{rounded:,} steps are not whole numbers, and are rounded down"
            self.problems = [Problem("steps", "info", message, path=self._log.name)]
        self._done = True
