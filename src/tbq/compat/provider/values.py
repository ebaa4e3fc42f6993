"""Values in TensorBoard's form: tensors as NumPy arrays, blobs as bytes; and downsampling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tbq.compat.provider.index import IndexedSeries
from tbq.following.listing import Points, RunValues
from tbq.kinds.tensors import array

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

T = TypeVar("T")


def thin(points: Points, most: int) -> Points:
    """At most `most` points, in their order: the last, and the smallest and largest of each stretch before it.

    >>> import numpy as np
    >>> points = Points(np.arange(6), np.arange(6.0), np.array([0.0, 9.0, 0.0, -9.0, 0.0, 1.0]))
    >>> thin(points, 3).values.tolist()
    [9.0, -9.0, 1.0]
    """
    from tbq import _core

    count = len(points.steps)
    if count <= most:
        return points
    keep = np.zeros(count, np.uint8)
    if most > 0:
        keep[-1] = 1
    if most > 1:
        before = count - 1
        starts = np.zeros(1, np.int64)
        _core.downsample(points.steps[:-1], points.values[:-1], starts, most - 1, False, keep[:before])
    kept = np.flatnonzero(keep)
    return Points(points.steps[kept], points.wall_times[kept], points.values[kept])


def spread(items: Sequence[T], most: int) -> list[T]:
    """At most `most` items, in their order: the first, the last, and others evenly between.

    >>> spread("abcdefg", 3), spread("abc", 1), spread("abc", 0)
    (['a', 'd', 'g'], ['c'], [])
    """
    count = len(items)
    if count <= most:
        return list(items)
    if most < 2:
        return [items[-1]] if most == 1 else []
    return [items[i * (count - 1) // (most - 1)] for i in range(most)]


def tensors(
    values: RunValues, series: IndexedSeries, places: Sequence[tuple[int, int, float]]
) -> Iterator[tuple[int, float, NDArray[Any]]]:
    """Step, wall time and tensor of these rows; leaves out unreadable ones."""
    rows = [row for row, _, _ in places]
    if series.listed.kind == "histograms":
        yield from _histograms(values.table(rows), "float32" if series.listed.field == "histo" else "float64")
        return
    table = values.as_logged(rows)
    columns = [table[name] for name in ("step", "wall_time", "form", "dtype", "shape", "data")]
    for step, wall_time, form, dtype, shape, data in zip(*columns, strict=True):
        if form.as_py() == "none":  # an hparams session has metadata but no value
            yield step.as_py(), wall_time.as_py(), np.zeros(0, np.float32)
        elif shape.as_py() is not None:
            yield step.as_py(), wall_time.as_py(), array(dtype.as_py(), shape.as_py(), data.as_buffer())


def _histograms(table: pa.Table, dtype: str) -> Iterator[tuple[int, float, NDArray[Any]]]:
    """Histograms as tensors of (left, right, count); TensorBoard converts those of the first version to float32."""
    names = ("step", "wall_time", "left", "right", "count")
    for step, wall_time, *lists in zip(*(table[name] for name in names), strict=True):
        if lists[0].as_py() is None:
            continue
        columns = [each.values.to_numpy(zero_copy_only=False) for each in lists]
        with np.errstate(over="ignore"):  # as in TensorBoard: values too large for float32 become infinite
            yield step.as_py(), wall_time.as_py(), np.stack(columns, axis=1).astype(dtype)


def blobs(values: RunValues, series: IndexedSeries, row: int) -> Any:
    """The blobs of a row; None if they cannot be read."""
    if series.listed.field == "image":
        table = values.table([row])
        if not len(table) or table["data"][0].as_py() is None:
            return None
        size = [str(table[name][0].as_py() or 0).encode() for name in ("width", "height")]
        return [*size, table["data"][0].as_py()]
    if series.listed.field == "audio":
        table = values.table([row])
        return [table["data"][0].as_py()] if len(table) and table["data"][0].as_py() is not None else None
    table = values.as_logged([row])
    if not len(table):
        return None
    if table["form"][0].as_py() != "tensor":
        return [table["data"][0].as_py()]
    if table["shape"][0].as_py() is None:
        return None
    tensor = array(table["dtype"][0].as_py(), table["shape"][0].as_py(), table["data"][0].as_buffer())
    if series.plugin == "audio" and tensor.ndim > 1:
        tensor = tensor.reshape(len(tensor), -1)[:, 0] if tensor.size else tensor[:0].reshape(0)
    return tensor.reshape(-1) if tensor.ndim == 0 else tensor
