"""Reads arrays from files, for predictions and labels: `.npy .npz .csv .tsv .parquet .pt .safetensors`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from tbq.errors import SourceError, UsageError
from tbq.export import format_of
from tbq.limits import Limit, Size
from tbq.results.checkpoint import of_file
from tbq.results.predictions import predictions
from tbq.results.rows import Rows
from tbq.results.scores import PairCounts
from tbq.source.urls import refuse_remote
from tbq.text import shell_word

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tbq.export.options import Writing
    from tbq.results.outputs import Activation, Task

    Array = NDArray[Any]

ENDINGS = (".npy", ".npz", ".csv", ".tsv", ".parquet", ".pt", ".pth", ".safetensors", ".h5")
_ROWS = 1 << 16


def split_key(spec: str) -> tuple[str, str | None]:
    """`file.npz:logits` as path and key; a colon in the path itself does not count.

    >>> split_key("preds.npz:logits")
    ('preds.npz', 'logits')
    """
    path, colon, key = spec.rpartition(":")
    if not colon or Path(spec).exists() or Path(path).suffix.lower() not in ENDINGS:
        return spec, None
    return path, key


def read_array(spec: str, max_unpacked: Size | None = None) -> Array:
    """The array in a file, or the array `key` of `file:key`; columns of CSV and Parquet are stacked side by side."""
    parts = [block for _, block in row_blocks(spec, max_unpacked)]
    return np.concatenate(parts) if len(parts) != 1 else parts[0]


def row_blocks(spec: str, max_unpacked: Size | None = None) -> Iterator[tuple[int, Array]]:
    """Blocks of rows of an array, each with the number of its first row; CSV and Parquet are one block."""
    refuse_remote(spec)
    path, key = split_key(spec)
    if not Path(path).is_file():
        raise SourceError("is a directory, want a file" if Path(path).is_dir() else "no such file", path=path)
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(
            f"tbq cannot read arrays from '{ending}' files", path=path, hint=f"it reads {', '.join(ENDINGS)}"
        )
    limit = Limit.of(max_unpacked)
    if ending == ".npy":
        yield from npy_blocks(path)
    elif ending in (".csv", ".tsv", ".parquet"):
        yield 0, _columns(path, ending, key, limit)
    else:
        yield from _tensor_blocks(path, key, limit)


def npy_blocks(path: str) -> Iterator[tuple[int, Array]]:
    """Blocks of rows of a `.npy` file, each with the number of its first row; never a pickle."""
    from tbq.results.checkpoint.npz import ZIP_FAULTS, blocks, damaged, header

    try:
        with open(path, "rb") as file:
            shape, fortran, dtype = header(file)
            if dtype.hasobject:
                raise SourceError(
                    "contains pickled Python objects, which tbq never loads",
                    path=path,
                    hint="save plain arrays",
                    code="unsafe",
                )
            if not shape:
                raise SourceError("contains a single number, want an array", path=path)
            flat = partial(blocks, file, shape, fortran, dtype)
            yield from _by_rows(shape, dtype.newbyteorder("="), flat, path)
    except ZIP_FAULTS as error:
        raise damaged(path, error) from None


def _by_rows(
    shape: tuple[int, ...], dtype: Any, blocks: Callable[[int], Iterator[Array]], path: str
) -> Iterator[tuple[int, Array]]:
    """Regroup flat blocks into complete rows of an array of this shape, a number of rows at a time."""
    width = math.prod(shape[1:])
    rows = max(1, min(_ROWS, (1 << 24) // max(width, 1)))
    done = 0
    rest = np.empty(0, dtype)
    for block in blocks(max(width * rows, 1)):
        flat = np.concatenate([rest, block]) if rest.size else block
        count = flat.size // width if width else 0
        if count:
            yield done, flat[: count * width].reshape(-1, *shape[1:])
        done += count
        rest = flat[count * width :]
    if width and done != shape[0]:
        raise SourceError(f"ends after {done} of {shape[0]} rows", path=path, hint="copy it again")
    if not done:
        yield 0, np.empty(shape, dtype)


def _tensor_blocks(path: str, key: str | None, limit: Limit) -> Iterator[tuple[int, Array]]:
    with ExitStack() as stack:
        arrays = {parameter.name: parameter for parameter in of_file(path, stack, limit)}
        if key is None and len(arrays) != 1:
            first = next(iter(arrays), "KEY")
            raise UsageError(
                f"has {len(arrays)} arrays: {', '.join(list(arrays)[:10])}",
                path=path,
                hint=f"choose one: {shell_word(f'{path}:{first}')}",
            )
        if key is not None and key not in arrays:
            raise UsageError(
                f"has no array '{key}'", path=path, hint=f"it has {', '.join(list(arrays)[:10])}"
            )
        chosen = arrays[key] if key is not None else next(iter(arrays.values()))
        if not chosen.shape:
            raise SourceError(f"'{chosen.name}' is a single number, want an array", path=path)
        try:
            yield from _by_rows(chosen.shape, np.float64, chosen.blocks, path)
        except SourceError as failure:
            failure.path = failure.path or path
            raise
        except ValueError as error:  # a shape without elements that NumPy rejects
            raise SourceError(f"'{chosen.name}' cannot be read: {error}", path=path) from None


def _parquet(path: str, limit: Limit) -> pa.Table:
    """Read a Parquet file, unless it expands to far more than its size: repeated values take few bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        texts = [
            column.name
            for column in file.schema_arrow
            if pa.types.is_string(column.type) or pa.types.is_binary(column.type)
        ]
        cells = file.metadata.num_rows * file.metadata.num_columns
    refusal = limit.refusal(8 * cells, Path(path).stat().st_size)
    if refusal:
        raise SourceError(refusal, path=path)
    with pq.ParquetFile(path, read_dictionary=texts) as file:  # repeated texts are held only once
        return file.read()


def _columns(path: str, ending: str, key: str | None, limit: Limit) -> Array:
    import pyarrow as pa

    try:
        if ending == ".parquet":
            table = _parquet(path, limit)
        else:
            from pyarrow import csv

            separator = "\t" if ending == ".tsv" else ","
            parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
            bare = csv.ReadOptions(autogenerate_column_names=_lacks_header(path, separator))
            table = csv.read_csv(path, parse_options=parse, read_options=bare)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot be read: {error}", path=path) from None
    if key is not None:
        if key not in table.column_names:
            raise UsageError(
                f"has no column '{key}'", path=path, hint=f"it has {', '.join(table.column_names[:10])}"
            )
        return np.asarray(table.column(key).to_numpy(zero_copy_only=False))
    arrays = [column.to_numpy(zero_copy_only=False) for column in table.columns]
    if not arrays:
        raise SourceError("has no columns", path=path)
    if len(arrays) == 1:
        return np.asarray(arrays[0])
    texts = [
        name for name, array in zip(table.column_names, arrays, strict=True) if array.dtype.kind not in "biuf"
    ]
    if texts:
        raise UsageError(
            f"column '{texts[0]}' is not numeric",
            path=path,
            hint=f"choose one column: {shell_word(f'{path}:{table.column_names[0]}')}",
        )
    return np.column_stack(arrays)


def _lacks_header(path: str, separator: str) -> bool:
    """Whether the first line is all numbers."""
    with open(path, encoding="utf-8-sig") as file:
        line = file.readline(1 << 20).strip()
    try:
        return bool([float(cell) for cell in line.split(separator)])
    except ValueError:
        return False


def write_predictions(
    outputs: str,
    path: str,
    *,
    labels: str | None = None,
    ids: str | None = None,
    classes: list[str] | None = None,
    task: Task | None = None,
    activation: Activation | None = None,
    threshold: float = 0.5,
    confusion: str | None = None,
    scores: str | None = None,
    plot: str | None = None,
    max_unpacked: Size | None = None,
    **options: Unpack[Writing],
) -> None:
    """Write `predictions` of files to a file; outputs are streamed, except from CSV and Parquet.

    Takes the options of `table.write` too.

    >>> import numpy as np, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "outputs.npy", np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> np.save(folder / "labels.npy", np.array([0, 0]))
    >>> target = folder / "predictions.csv"
    >>> tbq.results.write_predictions(
    ...     str(folder / "outputs.npy"), str(target), labels=str(folder / "labels.npy")
    ... )
    >>> print(target.read_text().splitlines()[2])
    1,0,1,0.8,0.2,0.8
    """
    from tbq.export.target import check_free
    from tbq.plot.files import check as check_picture

    force = options.get("force", False)
    targets = [(path, options.get("format"))] + [
        (each, "csv" if each == "-" else None) for each in (confusion, scores) if each
    ]
    for target, kind in targets:  # fail before any work is done
        format_of(target, kind)
        check_free(target, force)
    if plot is not None:
        check_picture(plot, force)
    batches = _batches(outputs, labels, ids, max_unpacked)
    rows = predictions(batches, classes=classes, task=task, activation=activation, threshold=threshold)
    assert isinstance(rows, Rows)
    tally = PairCounts()

    def counted() -> Iterator[Any]:
        for batch in rows.batches():
            if confusion is not None or scores is not None or plot is not None:
                tally.add(batch)
            yield batch

    Rows("predictions", counted).write(path, **options)
    if confusion is not None:
        tally.confusion().write(confusion, force=force, format="csv" if confusion == "-" else None)
    if plot is not None:
        tally.confusion().write_plot(plot, force=force)
    if scores is not None:
        tally.scores().write(scores, force=force, format="csv" if scores == "-" else None)


def _batches(
    outputs: str, labels: str | None, ids: str | None, max_unpacked: Size | None
) -> Iterator[tuple[Array, Array | None, Array | None]]:
    beside = [None if spec is None else read_array(spec, max_unpacked) for spec in (labels, ids)]
    done = 0
    for start, block in row_blocks(outputs, max_unpacked):
        done = start + len(block)
        if any(array is not None and len(array) < done for array in beside):
            continue  # only count, for the message below
        parts = [None if array is None else array[start:done] for array in beside]
        yield block, parts[0], parts[1]
    for what, array in zip(("labels", "ids"), beside, strict=True):
        if array is not None and len(array) != done:
            raise UsageError(f"{done} outputs but {len(array)} {what}, want the same number")
