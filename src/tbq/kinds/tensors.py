"""Tensors as NumPy arrays: every dtype of TensorFlow, from the raw bytes in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.arrays import STORED_AS, widen
from tbq.errors import DamageError, warn
from tbq.table.table import Table
from tbq.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# dtype of the table -> NumPy's, if NumPy has it. Quantised numbers become the integers that store them.
_NUMPY = {
    "float32": "<f4", "float64": "<f8", "float16": "<f2", "int8": "<i1", "int16": "<i2", "int32": "<i4",
    "int64": "<i8", "uint8": "<u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8", "bool": "?",
    "complex64": "<c8", "complex128": "<c16", "qint8": "<i1", "quint8": "<u1", "qint16": "<i2",
    "quint16": "<u2", "qint32": "<i4",
}  # fmt: skip

_SMALL_INTS = {"int4": "<i1", "uint4": "<u1", "int2": "<i1", "uint2": "<u1"}  # one byte per number


class TensorTable(Table):
    """The `tensors` table; `arrays()` returns NumPy arrays, which may differ in shape from step to step."""

    def arrays(self) -> list[NDArray[Any] | None]:
        """One array per row; None if the tensor could not be decoded (its `shape` is null).

        >>> log.tensors(tag="embedding").arrays()[0].shape
        (3, 4)
        """
        rows = self.to_arrow().select(["dtype", "shape", "data"])
        return [
            None if shape.as_py() is None else array(dtype.as_py(), shape.as_py(), data.as_buffer())
            for dtype, shape, data in zip(*rows.columns, strict=True)
        ]

    def elements(self) -> Table:
        """One row per element: `run, tag, step, wall_time, index, value`, for CSV and frames.

        `index` is the position in C order (`numpy.unravel_index`). Leaves out tensors without real numbers, with a
        warning, and tensors that could not be decoded.

        >>> import tbq, tempfile
        >>> with tbq.SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     writer.add_tensor("attention", [[0.5, 0.5]], 7)
        >>> elements = tbq.open(writer.log_dir).tensors().elements()
        >>> elements.to_arrow().select(["step", "index", "value"]).to_pylist()
        [{'step': 7, 'index': 0, 'value': 0.5}, {'step': 7, 'index': 1, 'value': 0.5}]
        """
        import numpy as np
        import pyarrow as pa

        table = self.to_arrow()
        parts = [
            None if part is None or part.dtype.kind in "cO" else part.reshape(-1) for part in self.arrays()
        ]
        left_out = sum(part is None for part in parts)
        if left_out:
            warn(f"{counted(left_out, 'tensor')} without real numbers left out")
        sizes = [0 if part is None else part.size for part in parts]
        rows = pa.array(np.repeat(np.arange(len(parts)), sizes))
        columns = {name: table[name].take(rows) for name in ("run", "tag", "step", "wall_time")}
        columns["index"] = pa.array(np.concatenate([np.zeros(0, np.int64), *map(np.arange, sizes)]))
        columns["value"] = pa.array(
            np.concatenate([np.zeros(0), *(part.astype(np.float64) for part in parts if part is not None)])
        )
        return Table(pa.table(columns), kind="elements")


def array(dtype: str, shape: Sequence[int], data: Any) -> NDArray[Any]:
    """One tensor as a new NumPy array.

    bfloat16, the float8 kinds and sub-byte numbers use ml_dtypes' types if that package is installed. Without it
    bfloat16 and sub-byte integers become float32 and int8, with a warning; floats of eight bits and less are an
    error. Strings become an object array of bytes.

    >>> array("int16", [2, 1], b"\\x01\\x00\\x02\\x00").tolist()
    [[1], [2]]
    """
    import numpy as np

    if dtype == "string":
        return _strings(shape, data)
    if dtype in _NUMPY:
        return np.frombuffer(data, _NUMPY[dtype]).reshape(shape).copy()
    if dtype in STORED_AS or dtype in _SMALL_INTS:
        return _small(dtype, data).reshape(shape)
    raise DamageError(
        f"tensors of dtype {dtype} cannot be decoded", hint="their bytes are in the tensors table"
    )


def _strings(shape: Sequence[int], data: Any) -> NDArray[Any]:
    import math

    import numpy as np

    count = math.prod(shape)
    offsets = np.frombuffer(data, "<i8", count + 1)
    texts = bytes(memoryview(data)[8 * (count + 1) :])
    out = np.empty(count, object)
    for i in range(count):
        out[i] = texts[offsets[i] : offsets[i + 1]]
    return out.reshape(shape)


def _small(dtype: str, data: Any) -> NDArray[Any]:
    import numpy as np

    try:
        import ml_dtypes
    except ImportError:
        ml_dtypes = None
    known = getattr(ml_dtypes, dtype, None)
    if known is not None:
        if dtype in _SMALL_INTS:  # astype sets the high bits to the sign; ml_dtypes uses only the low bits
            return np.frombuffer(data, _SMALL_INTS[dtype]).astype(known)
        return np.frombuffer(data, known).copy()
    instead = "float32" if dtype in STORED_AS else "int8" if dtype.startswith("i") else "uint8"
    values = (
        np.frombuffer(data, _SMALL_INTS[dtype]).copy()
        if dtype in _SMALL_INTS
        else widen(np.frombuffer(data, STORED_AS[dtype]), dtype)
    )
    warn(f"{dtype} is converted to {instead}; install ml_dtypes to keep its type")
    return values


def corner(values: NDArray[Any], size: int = 4) -> NDArray[Any]:
    """The first few elements along each axis, as a preview.

    >>> import numpy as np
    >>> corner(np.arange(100).reshape(10, 10), 2).tolist()
    [[0, 1], [10, 11]]
    """
    chosen: Any = (*(slice(0, size) for _ in range(values.ndim)), ...)
    part: NDArray[Any] = values[chosen]  # the ellipsis keeps a single element an array
    return part
