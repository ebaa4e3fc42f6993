"""Compares two checkpoints, parameter by parameter, reading both in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.results.checkpoint import parameters
from tbq.results.weights import choose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.limits import Size
    from tbq.results.checkpoint.parameter import Parameter
    from tbq.table import Table

    Array = NDArray[Any]

COLUMNS = ["layer", "parameter", "status", "shape", "other_shape", "dtype", "other_dtype", "count", "changed"]
COLUMNS += ["max_abs", "mean_abs", "norm", "relative", "cosine"]


def weights_diff(
    model: Any, other: Any, *, layer: str | Sequence[str] | None = None, max_unpacked: Size | None = None
) -> Table:
    """What changed from `model` to `other`, one row per parameter.

    `status` is `same`, `changed`, `shape` (differs, so not compared), `added` or `removed`. `changed` counts
    the elements that differ; `max_abs`, `mean_abs` and `norm` describe the differences, `relative` is their norm
    divided by the norm of the first checkpoint, `cosine` is the cosine of the angle between the two. Two NaN at the
    same place are equal; any other non-finite difference makes the numbers non-finite. `max_unpacked` is as in
    `weights`.

    >>> import numpy as np
    >>> a, b = {"w.bias": np.zeros(3)}, {"w.bias": np.array([0.0, 0.0, 2.0])}
    >>> weights_diff(a, b).to_arrow().select(["layer", "status", "changed", "max_abs"]).to_pylist()
    [{'layer': 'w', 'status': 'changed', 'changed': 1, 'max_abs': 2.0}]
    """
    with parameters(model, max_unpacked) as ours, parameters(other, max_unpacked) as theirs:
        # A layer may exist on only one side, so the selection is matched against both sides together.
        chosen = {p.name for p in choose([*ours, *theirs], layer, model)}
        before = {p.name: p for p in ours if p.name in chosen}
        after = {p.name: p for p in theirs if p.name in chosen}
        rows = [_row(before.get(name), after.get(name)) for name in {**before, **after}]
    import pyarrow as pa

    from tbq.table import Table

    label = pa.dictionary(pa.int32(), pa.string())
    sizes = pa.list_(pa.int64())
    types = {"shape": sizes, "other_shape": sizes, "count": pa.int64(), "changed": pa.int64()}
    types |= dict.fromkeys(("layer", "parameter", "status", "dtype", "other_dtype"), label)
    schema = pa.schema([(name, types.get(name, pa.float64())) for name in COLUMNS])
    return Table(pa.Table.from_pylist(rows, schema=schema), kind="weights_diff")


def _row(before: Parameter | None, after: Parameter | None) -> dict[str, Any]:
    named = before or after
    assert named is not None
    row = {name: named.row[name] for name in ("layer", "parameter", "count")}
    if before is not None:
        row |= {"shape": list(before.shape), "dtype": before.dtype}
    if after is not None:
        row |= {"other_shape": list(after.shape), "other_dtype": after.dtype}
    if before is None or after is None:
        row["status"] = "added" if before is None else "removed"
    elif before.shape != after.shape:
        row["status"] = "shape"
    else:
        row |= _compare(before, after)
    return row


def _compare(before: Parameter, after: Parameter) -> dict[str, Any]:
    changed, largest, total, power = 0, 0.0, 0.0, 0.0
    dot = norm_a = norm_b = 0.0
    with np.errstate(all="ignore"):
        for a, b in _aligned(before.blocks(), after.blocks()):
            differs = (a != b) & ~(np.isnan(a) & np.isnan(b))
            changed += int(np.count_nonzero(differs))
            x: Array = a.astype(_wide(a))
            y: Array = b.astype(_wide(b))
            dot += float(np.vdot(x, y).real)
            norm_a += float(np.vdot(x, x).real)
            norm_b += float(np.vdot(y, y).real)
            if differs.any():
                distance = np.abs(np.where(differs, y - x, 0.0))
                largest = float(np.maximum(largest, distance.max()))
                total += float(distance.sum())
                power += float(np.vdot(distance, distance))
    scale = math.sqrt(norm_a * norm_b) if math.isfinite(norm_a * norm_b) else math.nan
    count = max(before.count, 1)
    return {
        "status": "changed" if changed else "same",
        "changed": changed,
        "max_abs": largest,
        "mean_abs": total / count,
        "norm": math.sqrt(power),
        "relative": math.sqrt(power / norm_a) if norm_a else None,
        "cosine": dot / scale if scale else None,
    }


def _wide(values: Array) -> type:
    return np.complex128 if values.dtype.kind == "c" else np.float64


def _aligned(left: Iterator[Array], right: Iterator[Array]) -> Iterator[tuple[Array, Array]]:
    """Two sequences of blocks, cut at the same places: readers of different formats cut differently."""
    a = b = np.empty(0)
    while True:
        a = a if a.size else next(left, a)
        b = b if b.size else next(right, b)
        size = min(a.size, b.size)
        if not size:
            return
        yield a[:size], b[:size]
        a, b = a[size:], b[size:]
