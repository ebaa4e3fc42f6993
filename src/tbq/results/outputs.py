"""What the outputs and labels of a model are: probabilities, class numbers, one-hot rows; and the task they show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

Task = Literal["multiclass", "binary", "multilabel", "regression"]
Activation = Literal["softmax", "sigmoid"]


def task_of(outputs: Array, labels: Array | None, classes: Sequence[str] | None) -> Task:
    """The task, judged by shapes and types; NaN is an unknown output, which speaks for no task."""
    single = outputs.ndim == 1 or outputs.shape[1] == 1
    if labels is not None and labels.dtype.kind in "US":
        return "binary" if single and outputs.dtype.kind == "f" else "multiclass"
    if single:
        if outputs.dtype.kind in "iub":
            return "multiclass"
        truths = labels is not None and np.isin(known(labels), (0, 1)).all() and bool(labels.size)
        if (truths and are_probabilities(outputs)) or (classes is not None and len(classes) == 2):
            return "binary"
        return "regression"
    if labels is None or labels.ndim == 1 or labels.shape[1] == 1:
        return "multiclass" if labels is None or are_whole(known(labels)) else "regression"
    if labels.size and np.isin(labels, (0, 1)).all():
        return "multiclass" if are_one_hot(labels) else "multilabel"
    return "regression"


def unknown(flat: Array) -> Array:
    """For each row, whether a number of it is NaN."""
    if flat.dtype.kind != "f":
        return np.zeros(len(flat), bool)
    return np.asarray(np.isnan(flat).any(axis=tuple(range(1, flat.ndim))))


def known(values: Array) -> Array:
    return values[~np.isnan(values)] if values.dtype.kind == "f" else values


def are_whole(codes: Array) -> bool:
    return codes.dtype.kind in "biu" or bool(np.isfinite(codes).all() and (codes == np.floor(codes)).all())


def are_probabilities(outputs: Array) -> bool:
    outputs = known(outputs)
    return not outputs.size or bool((outputs >= 0).all() and (outputs <= 1).all())


def sum_to_one(outputs: Array) -> bool:
    """Whether the rows are distributions; with float16 and many classes the sum is only near one."""
    return not outputs.size or bool(np.allclose(outputs.sum(axis=1, dtype=np.float64), 1, atol=1e-2))


def are_one_hot(labels: Array) -> bool:
    return bool(np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all())


def activated(flat: Array, activation: Activation) -> Array:
    values = flat.astype(np.float64) if flat.dtype.kind != "f" else flat
    with np.errstate(over="ignore", invalid="ignore"):
        if activation == "sigmoid":
            return np.asarray(1 / (1 + np.exp(-values)))
        raised = np.exp(values - values.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))
