"""Every element of every parameter as a row `layer, parameter, index, value`, in batches of bounded size.

`index` is the position in C order: `numpy.unravel_index(index, shape)` gives the place on each axis.
"""

from __future__ import annotations

import csv
import io
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from tbq import _core
from tbq.errors import SourceError, warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.results.checkpoint.parameter import Parameter

SCHEMA = pa.schema(
    [
        pa.field("layer", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("parameter", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("index", pa.int64(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ]
)
ROWS = 1 << 17  # rows per batch
LINES = 1 << 15  # rows formatted at once: their text fits the CPU cache
_BATCHES_IN_GROUP = 8  # of a Parquet file
_EXACT = 1 << 53  # integers up to here are exact in float64

T = TypeVar("T")


def batches(parameters: Sequence[Parameter]) -> Iterator[pa.RecordBatch]:
    """The elements as record batches, prepared by threads while the caller uses the previous ones."""
    layers = {name: code for code, name in enumerate(dict.fromkeys(p.layer for p in parameters))}
    names = {name: code for code, name in enumerate(dict.fromkeys(p.parameter for p in parameters))}
    dictionaries = [pa.array(list(codes), pa.string()) for codes in (layers, names)]

    def make(pieces: list[tuple[Parameter, int, NDArray[Any]]]) -> pa.RecordBatch:
        sizes = [values.size for _, _, values in pieces]
        codes = [
            np.repeat(np.array([code_of[key] for code_of, key in chosen], np.int32), sizes)
            for chosen in (
                [(layers, p.layer) for p, _, _ in pieces],
                [(names, p.parameter) for p, _, _ in pieces],
            )
        ]
        index = np.concatenate([np.arange(start, start + values.size) for _, start, values in pieces])
        value = np.concatenate([values.astype(np.float64) for _, _, values in pieces])
        columns = [
            pa.DictionaryArray.from_arrays(pa.array(code), names)
            for code, names in zip(codes, dictionaries, strict=True)
        ]
        columns += [pa.array(index), pa.array(value)]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    if not any(p.count for p in parameters):
        yield pa.RecordBatch.from_pylist([], schema=SCHEMA)
    yield from ahead(make, gathered(parameters))


def gathered(parameters: Iterable[Parameter]) -> Iterator[list[tuple[Parameter, int, NDArray[Any]]]]:
    """About `ROWS` elements at a time, with small parameters combined."""
    pieces: list[tuple[Parameter, int, NDArray[Any]]] = []
    rows = 0
    for parameter in parameters:
        start = 0
        for block in parameter.blocks(ROWS):
            values = _real(parameter, block)
            if values.dtype.kind in "iu" and values.size:
                low, high = int(values.min()), int(values.max())
                if low < -_EXACT or high > _EXACT:
                    warn(
                        f"'{parameter.name}' has integers above 2^53, which the float64 column `value` rounds; "
                        "CSV keeps them exact"
                    )
            pieces.append((parameter, start, values))
            start += values.size
            rows += values.size
            if rows >= ROWS:
                yield pieces
                pieces, rows = [], 0
    if rows:
        yield pieces


def write_parquet(parameters: Sequence[Parameter], stream: IO[bytes]) -> None:
    """Write the elements as Parquet, without compression and statistics, which would take longer than all the rest."""
    from pyarrow import parquet as pq

    from tbq.export.options import ExportOptions, origin

    schema = SCHEMA.with_metadata(origin(ExportOptions(kind="elements", format="parquet")))
    with pq.ParquetWriter(
        stream,
        schema,
        compression="none",
        use_dictionary=["layer", "parameter"],
        write_statistics=False,
        column_encoding={"index": "DELTA_BINARY_PACKED", "value": "PLAIN"},
    ) as writer:
        group: list[pa.RecordBatch] = []
        for batch in batches(parameters):
            group.append(batch)
            if len(group) == _BATCHES_IN_GROUP:
                writer.write_table(pa.Table.from_batches(group, SCHEMA))
                group = []
        if group:
            writer.write_table(pa.Table.from_batches(group, SCHEMA))


def lines(parameters: Iterable[Parameter], separator: str = ",") -> Iterator[memoryview]:
    """The elements as CSV text without a header; each block is valid until the next is requested."""

    def runs() -> Iterator[tuple[_core.ElementLines, int, NDArray[Any]]]:
        for parameter in parameters:
            writer = _core.ElementLines(_prefix(parameter, separator), separator)
            start = 0
            for block in parameter.blocks(LINES):
                values = _real(parameter, block)
                if values.dtype.kind == "b" or (values.dtype.kind == "u" and values.dtype.itemsize < 8):
                    values = values.astype(np.int64)
                elif values.dtype.kind == "i":
                    values = values.astype(np.int64, copy=False)
                elif values.dtype == np.float16:
                    values = values.astype(np.float32)
                yield writer, start, np.ascontiguousarray(values)
                start += values.size

    # Buffers are recycled: fresh memory pages are expensive.
    free: SimpleQueue[NDArray[np.uint8]] = SimpleQueue()

    def text(run: tuple[_core.ElementLines, int, NDArray[Any]]) -> tuple[NDArray[np.uint8], int]:
        writer, start, values = run
        want = writer.longest * values.size
        try:
            buffer = free.get_nowait()
        except Empty:
            buffer = np.empty(0, np.uint8)
        if buffer.size < want:
            buffer = np.empty(want, np.uint8)
        return buffer, writer.write(start, values, buffer)

    for buffer, size in ahead(text, runs()):
        yield buffer.data[:size]
        free.put(buffer)


def _prefix(parameter: Parameter, separator: str) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator=separator).writerow(
        [parameter.layer, parameter.parameter]
    )
    return line.getvalue()


def _real(parameter: Parameter, block: NDArray[Any]) -> NDArray[Any]:
    if block.dtype.kind == "c":
        raise SourceError(
            f"'{parameter.name}' is {parameter.dtype}: a complex element is not a single value",
            hint="exclude it with layer= (--layer), or use the statistics",
        )
    return block


def ahead(function: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
    """Apply `function` to each item, in order; threads compute the results a few items ahead of the caller."""
    workers = min(4, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers, thread_name_prefix="tbq-elements") as pool:
        waiting: deque[Future[T]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > workers + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
