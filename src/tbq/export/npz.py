"""NumPy `.npz`: one array per column; lists and bytes as a flat array plus `<name>.offsets`."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.errors import OutputError

if TYPE_CHECKING:
    from tbq.export.options import ExportOptions

# Fixed-width strings take four bytes per character of the longest: a larger file is not useful.
_MAX_STRINGS = 1 << 32


def write(table: pa.Table, stream: IO[bytes], _: ExportOptions) -> None:
    """Write arrays that `numpy.load` reads without pickle."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in _arrays(table):
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def _arrays(table: pa.Table) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    is_ = pa.types
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_binary(kind) or is_.is_large_binary(kind):
            yield from _ragged(name, column)
        elif is_.is_dictionary(kind) or is_.is_string(kind) or is_.is_large_string(kind):
            yield name, _strings(name, column)
        elif is_.is_timestamp(kind):
            yield name, column.cast(pa.timestamp(kind.unit)).to_numpy()
        elif is_.is_nested(kind):
            raise OutputError(f"npz cannot hold the nested column {name!r}", hint="write .parquet or .jsonl")
        elif is_.is_null(kind) or (is_.is_boolean(kind) and column.null_count):
            yield name, column.cast(pa.float64()).to_numpy()  # NaN for absent values, as for integers
        elif is_.is_time(kind):
            yield name, _strings(name, column.cast(pa.string()))
        else:
            yield name, column.to_numpy()


def _strings(name: str, column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    from tbq.columns.codes import codes_of

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes, names = codes_of(column)
    texts = np.array([*(text or "" for text in names.to_pylist()), ""], dtype=np.str_)
    if texts.itemsize * len(codes) > _MAX_STRINGS:
        raise OutputError(
            f"column {name!r} would take {texts.itemsize * len(codes):,} bytes in npz",
            hint="write .parquet or .arrow",
        )
    return np.asarray(texts[codes])


def _ragged(name: str, column: pa.ChunkedArray) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    import pyarrow.compute as pc

    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        lengths = pc.fill_null(pc.binary_length(column), 0)
        joined = b"".join(
            value for chunk in column.chunks for value in chunk.to_pylist() if value is not None
        )
        flat = np.frombuffer(joined, np.uint8)
    else:
        lengths = pc.fill_null(pc.list_value_length(column), 0)
        flat = pc.list_flatten(column).to_numpy()
        if flat.dtype == object:
            raise OutputError(
                f"npz cannot hold column {name!r}: its lists are not numbers", hint="write .parquet or .jsonl"
            )
    yield name, flat
    yield f"{name}.offsets", np.concatenate([[0], np.cumsum(lengths.to_numpy())]).astype(np.int64)
