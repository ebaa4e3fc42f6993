"""TensorFlow's `summary_iterator`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from tbq.compat.event_file_loader import LegacyEventFileLoader


class _SummaryIterator:
    def __init__(self, path: str | os.PathLike[str], protobuf: bool | None) -> None:
        self._events = LegacyEventFileLoader(path, protobuf=protobuf).Load()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._events)

    next = __next__


def summary_iterator(path: str | os.PathLike[str], *, protobuf: bool | None = None) -> Iterator[Any]:
    """The events of one event file, as they were written.

    >>> from pathlib import Path
    >>> from tbq.compat.summary_iterator import summary_iterator
    >>> path = next(Path("runs/lr=0.1/seed=0").glob("*tfevents*"))
    >>> sum(len(event.summary.value) for event in summary_iterator(path)) > 0
    True
    """
    return _SummaryIterator(path, protobuf)
