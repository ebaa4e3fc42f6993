"""The attributes of EventAccumulator that hold values: `scalars`, `images`, … with `Keys()` and `Items(tag)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from tbq.compat.sequences import Events, ScalarEvents

if TYPE_CHECKING:
    from tbq._core import Accumulator

_S = TypeVar("_S")
_MOST = (1 << 64) - 1


def sizes_of(guidance: Mapping[str, int], default: Mapping[str, int]) -> dict[str, int]:
    """How many values of each tag to keep, by kind."""
    sizes = {}
    for kind in default:
        size = guidance.get(kind, default[kind])
        if size < 0 or size != round(size):
            raise ValueError(f"size must be nonnegative integer, was {size}")
        sizes[kind] = min(int(size), _MOST)
    return sizes


class Reservoir(Generic[_S]):
    """The values of one kind."""

    def __init__(
        self, core: Accumulator, kind: str, size: int, make: Callable[[float, int, bytes], Any] | None = None
    ) -> None:
        self._core = core
        self._kind = kind
        self._make = make
        self.size = size
        self.always_keep_last = kind != "distributions"

    def Keys(self) -> list[str]:
        """The tags, in the order in which they came."""
        return self._core.tags(self._kind)

    def Items(self, key: str) -> _S:
        """The values of a tag; KeyError without any."""
        try:
            count = self._core.count(self._kind, key)
        except TypeError:  # not a string, or one that cannot be encoded
            count = -1
        if count < 0:
            raise KeyError(f"Key {key} was not found in Reservoir")
        if self._make is not None:
            return cast(_S, Events(self._core.values(self._kind, key), self._make))
        return cast(_S, ScalarEvents(self._core.scalars(key)))
