"""The events that EventAccumulator returns: named tuples that are also dataclasses, as TensorBoard has used both."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

_T = TypeVar("_T")


def _also_dataclass(cls: type[_T]) -> type[_T]:
    """Add to a named tuple what `dataclasses` and `vars` need: `asdict`, `fields` and `replace` accept it."""
    like: Any = dataclasses.make_dataclass(cls.__name__, typing.get_type_hints(cls).items(), frozen=True)
    namespace = {
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__slots__": (),
        "__dict__": property(lambda self: self._asdict()),
        "__dataclass_fields__": like.__dataclass_fields__,
    }
    return type(cls.__name__, (cls,), namespace)


@_also_dataclass
class ScalarEvent(NamedTuple):
    """One point of a scalar tag."""

    wall_time: float
    step: int
    value: float


@_also_dataclass
class CompressedHistogramEvent(NamedTuple):
    """One histogram as pairs of basis points and values."""

    wall_time: float
    step: int
    compressed_histogram_values: Sequence[tuple[float, float]]


@_also_dataclass
class HistogramValue(NamedTuple):
    """The numbers of one histogram."""

    min: float
    max: float
    num: float
    sum: float
    sum_squares: float
    bucket_limit: Sequence[float]
    bucket: Sequence[float]


@_also_dataclass
class HistogramEvent(NamedTuple):
    """One histogram."""

    wall_time: float
    step: int
    histogram_value: HistogramValue


@_also_dataclass
class ImageEvent(NamedTuple):
    """One image, encoded as it was logged."""

    wall_time: float
    step: int
    encoded_image_string: bytes
    width: int
    height: int


@_also_dataclass
class AudioEvent(NamedTuple):
    """One clip, encoded as it was logged."""

    wall_time: float
    step: int
    encoded_audio_string: bytes
    content_type: str
    sample_rate: float
    length_frames: int


@_also_dataclass
class TensorEvent(NamedTuple):
    """One tensor, as a TensorProto."""

    wall_time: float
    step: int
    tensor_proto: Any
