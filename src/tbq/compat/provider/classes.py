"""The results of a data provider: TensorBoard's own classes if it is installed, otherwise equivalents."""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any


@functools.cache
def provider() -> Any:
    """`tensorboard.data.provider`, or a replacement."""
    try:
        from tensorboard.data import provider as theirs
    except ImportError:
        return SimpleNamespace(**{each.__name__: each for each in _OURS})
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


@dataclass(frozen=True, kw_only=True)
class ExperimentMetadata:
    """The origin of the data."""

    data_location: str = ""
    experiment_name: str = ""
    experiment_description: str = ""
    creation_time: float = 0


@dataclass(frozen=True)
class Run:
    """A run: `start_time` is the wall time of its first event, None if it has none."""

    run_id: str
    run_name: str
    start_time: float | None


@dataclass(frozen=True, kw_only=True)
class TensorTimeSeries:
    """The metadata of a series of tensors."""

    max_step: int
    max_wall_time: float
    plugin_content: bytes
    description: str
    display_name: str


@dataclass(frozen=True, kw_only=True)
class ScalarTimeSeries(TensorTimeSeries):
    """The metadata of a series of scalars."""

    last_value: float | None = None


@dataclass(frozen=True, kw_only=True)
class BlobSequenceTimeSeries(TensorTimeSeries):
    """The metadata of a series of blob sequences; `max_length` is the largest number of blobs at one step."""

    max_length: int


@dataclass(frozen=True, slots=True)
class ScalarDatum:
    """One point."""

    step: int
    wall_time: float
    value: float


@dataclass(frozen=True, eq=False, slots=True)
class TensorDatum:
    """One tensor, as a NumPy array."""

    step: int
    wall_time: float
    numpy: Any

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        import numpy as np

        if not isinstance(other, TensorDatum):
            return False
        return (
            self.step == other.step
            and self.wall_time == other.wall_time
            and bool(np.array_equal(self.numpy, other.numpy))
        )


@dataclass(frozen=True)
class BlobReference:
    """A reference to a blob: `read_blob` takes the key."""

    blob_key: str
    url: str | None = None


@dataclass(frozen=True)
class BlobSequenceDatum:
    """The blobs of one step."""

    step: int
    wall_time: float
    values: tuple[BlobReference, ...]


@dataclass(frozen=True)
class ListHyperparametersResult:
    """Empty: TensorBoard's page then reads the tensors of the plugin hparams."""

    hyperparameters: Collection[Any]
    session_groups: Collection[Any]


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


_OURS = (
    ExperimentMetadata, Run, ScalarTimeSeries, TensorTimeSeries, BlobSequenceTimeSeries, ScalarDatum, TensorDatum,
    BlobReference, BlobSequenceDatum, ListHyperparametersResult, RunTagFilter,
)  # fmt: skip
