"""`SingleValues`: single values, each with its own tag, step and time, on their way to events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.source.formats.sink import Sink


class SingleValues:
    """Values in the order in which they were logged."""

    def __init__(self) -> None:
        self._tags: list[str] = []
        self._steps: list[int] = []
        self._times: list[float] = []
        self._values: list[float] = []

    def add(
        self, tags: Sequence[str], steps: Sequence[int], times: Sequence[float], values: Sequence[float]
    ) -> None:
        """Add values."""
        self._tags += tags
        self._steps += steps
        self._times += times
        self._values += values

    def write(self, sink: Sink) -> None:
        """Write one event per value, and forget them."""
        import numpy as np

        if not self._tags:
            return
        codes = {tag: code for code, tag in enumerate(dict.fromkeys(self._tags))}
        sink.rows(
            list(codes),
            np.array([codes[tag] for tag in self._tags], np.int32),
            np.array(self._steps, np.int64),
            np.array(self._times, np.float64),
            np.array(self._values, np.float64),
        )
        self.__init__()  # type: ignore[misc]
