"""Weights and biases as a table: one row per parameter with its statistics, or one row per element."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from tbq.errors import warn
from tbq.results.checkpoint import parameters
from tbq.results.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.limits import Size
    from tbq.results.checkpoint.parameter import Parameter
    from tbq.table import Table

COLUMNS = ["layer", "parameter", "shape", "dtype", "count"]
COLUMNS += ["mean", "std", "min", "max", "norm", "zeros", "nonfinite"]


def weights(
    model: Any, *, layer: str | Sequence[str] | None = None, max_unpacked: Size | None = None
) -> Table:
    """The parameters of a model or checkpoint.

    `model` is a Keras model, a torch module or state dict, a (nested) dict of arrays, or the path of a
    `.safetensors`, `.npz`, `.h5`, `.keras`, `.pt`, `.pth` or `.ckpt` file. No code in a file is ever run.

    The table has one row per parameter: `layer, parameter, shape, dtype, count, mean, std, min, max, norm, zeros,
    nonfinite`, with statistics of the finite elements; `weight_elements` has the elements themselves. `layer` takes
    names, globs, `re:` expressions or a list of them.

    `max_unpacked` limits the size to which a parameter of a compressed file may unpack, in bytes or with a unit
    ("4GB"); the default is 256 MiB and a hundred times its size. Parameters beyond it have no statistics.

    >>> import numpy as np
    >>> table = weights({"dense.weight": np.array([[3.0, 0.0], [0.0, 4.0]]), "dense.bias": np.zeros(2)})
    >>> table.to_arrow().select(["layer", "parameter", "count", "norm", "zeros"]).to_pylist()[0]
    {'layer': 'dense', 'parameter': 'weight', 'count': 4, 'norm': 5.0, 'zeros': 2}
    """
    from tbq.results.statistics import statistics
    from tbq.table import Table

    rows = []
    with _chosen(model, layer, max_unpacked) as chosen:
        for parameter in chosen:
            row = parameter.row
            if parameter.unreadable:
                warn(f"no statistics for '{parameter.name}': {parameter.unreadable}")
            else:
                row.update(statistics(parameter.blocks()).row())
            rows.append(row)
    import pyarrow as pa

    return Table(pa.Table.from_pylist(rows, schema=_schema()), kind="weights")


def _schema() -> pa.Schema:
    import pyarrow as pa

    label = pa.dictionary(pa.int32(), pa.string())
    types = {"layer": label, "parameter": label, "shape": pa.list_(pa.int64()), "dtype": label}
    counts = {"count", "zeros", "nonfinite"}
    return pa.schema([(c, types.get(c, pa.int64() if c in counts else pa.float64())) for c in COLUMNS])


def weight_elements(
    model: Any, *, layer: str | Sequence[str] | None = None, max_unpacked: Size | None = None
) -> Rows:
    """Every element of the parameters of a model or checkpoint: `layer, parameter, index, value`.

    Takes the same arguments as `weights`. Rows are computed on use, so `weight_elements(path).write("weights.csv")`
    needs little memory at any size. `index` is the position in C order: `numpy.unravel_index` gives the place
    on each
    axis.

    >>> import numpy as np
    >>> weight_elements({"dense.bias": np.array([0.5, 2.0])}).to_arrow().to_pylist()[1]
    {'layer': 'dense', 'parameter': 'bias', 'index': 1, 'value': 2.0}
    """
    from tbq.results import elements

    with _chosen(model, layer, max_unpacked):
        pass  # raises now, not at the first use, if the file or a name is wrong

    def batches() -> Iterator[pa.RecordBatch]:
        with _chosen(model, layer, max_unpacked) as chosen:
            yield from elements.batches(chosen)

    def lines(separator: str, stream: IO[bytes]) -> None:
        with _chosen(model, layer, max_unpacked) as chosen:
            stream.write((separator.join(elements.SCHEMA.names) + "\n").encode())
            for text in elements.lines(chosen, separator):
                stream.write(text)

    def parquet(stream: IO[bytes]) -> None:
        with _chosen(model, layer, max_unpacked) as chosen:
            elements.write_parquet(chosen, stream)

    writers: dict[str, Callable[[IO[bytes]], object]] = {"parquet": parquet}
    writers |= {"csv": partial(lines, ","), "tsv": partial(lines, "\t")}
    return Rows("elements", batches, writers)


@contextmanager
def _chosen(
    model: Any, layer: str | Sequence[str] | None, max_unpacked: Size | None
) -> Iterator[list[Parameter]]:
    """The parameters of the chosen layers of a model."""
    with parameters(model, max_unpacked) as opened:
        yield choose(opened, layer, model)


def choose(candidates: list[Parameter], layer: str | Sequence[str] | None, model: Any) -> list[Parameter]:
    """The parameters of the chosen layers, in the order of the file."""
    if layer is None:
        return candidates
    from tbq.select import Selection

    where = os.fspath(model) if isinstance(model, str | os.PathLike) else None
    wanted = set(Selection.of(layer, "layer").require([p.layer for p in candidates], where=where))
    return [p for p in candidates if p.layer in wanted]
