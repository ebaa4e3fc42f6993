"""The results of a data provider: TensorBoard's own classes if it is installed, otherwise equivalents."""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass, field, make_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np


@functools.cache
def provider() -> Any:
    """`tensorboard.data.provider`, or a replacement."""
    try:
        from tensorboard.data import provider as theirs
    except ImportError:
        ours = {name: make_dataclass(name, fields, frozen=True) for name, fields in _FIELDS.items()}
        return SimpleNamespace(**ours, RunTagFilter=RunTagFilter, TensorDatum=TensorDatum)
    return theirs


class _PublicError(Exception):
    """Replaces TensorBoard's errors."""


@functools.cache
def errors() -> Any:
    """NotFoundError and InvalidArgumentError: TensorBoard's, which its page knows, or tbq's own.

    They also derive from the Python errors that TensorBoard's own provider raises in the same place.
    """
    try:
        from tensorboard import errors as theirs

        not_found, invalid = theirs.NotFoundError, theirs.InvalidArgumentError
    except ImportError:
        not_found = invalid = _PublicError

    class NotFoundError(not_found, KeyError):  # type: ignore[misc, valid-type]
        __str__ = Exception.__str__

    class InvalidArgumentError(invalid, ValueError):  # type: ignore[misc, valid-type]
        pass

    return SimpleNamespace(NotFoundError=NotFoundError, InvalidArgumentError=InvalidArgumentError)


# The fields of the replacements, with their defaults.
_SERIES = ("max_step", "max_wall_time", "plugin_content", "description", "display_name")
_FIELDS: dict[str, tuple[Any, ...]] = {
    "ExperimentMetadata": tuple(
        (name, Any, field(default=default))
        for name, default in {
            "data_location": "", "experiment_name": "", "experiment_description": "", "creation_time": 0,
        }.items()
    ),
    "Run": ("run_id", "run_name", "start_time"),
    "TensorTimeSeries": _SERIES,
    "ScalarTimeSeries": (*_SERIES, ("last_value", Any, field(default=None))),
    "BlobSequenceTimeSeries": (*_SERIES, "max_length"),
    "ScalarDatum": ("step", "wall_time", "value"),
    "BlobReference": ("blob_key", ("url", Any, field(default=None))),
    "BlobSequenceDatum": ("step", "wall_time", "values"),
    "ListHyperparametersResult": ("hyperparameters", "session_groups"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TensorDatum:
    """One tensor, as a NumPy array."""

    step: int
    wall_time: float
    numpy: Any

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorDatum) or (self.step, self.wall_time) != (other.step, other.wall_time):
            return False
        return bool(np.array_equal(self.numpy, other.numpy))


class RunTagFilter:
    """The selected runs and tags; None for all."""

    def __init__(self, runs: Collection[str] | None = None, tags: Collection[str] | None = None) -> None:
        self.runs = _names("runs", runs)
        self.tags = _names("tags", tags)

    def __repr__(self) -> str:
        return f"RunTagFilter(runs={self.runs!r}, tags={self.tags!r})"


def _names(name: str, value: Collection[str] | None) -> frozenset[str] | None:
    if value is None:
        return None
    want = f"{name}: expected `None` or collection of strings; got"
    if isinstance(value, str):
        raise TypeError(f"{want} {type(value)!r}: {value!r}")
    names = frozenset(value)
    for item in names:
        if not isinstance(item, str):
            raise TypeError(f"{want} item of type {type(item)!r}: {item!r}")
    return names
