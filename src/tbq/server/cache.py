"""`AnswerCache`: answers, and what they are made of, until something else needs the room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Value = TypeVar("Value")


class AnswerCache:
    """Values by kind and key. Each kind has its own limit: the values used longest ago go first, and the newest stays.

    The one lock is held while values are looked up or stored, never while they are made: two threads that ask for the
    same value at once may both make it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: dict[str, OrderedDict[Hashable, tuple[Any, int]]] = {}

    def get(self, kind: str, key: Hashable) -> Any:
        """The value; None if the cache does not have it."""
        with self._lock:
            kept = self._kinds.get(kind)
            if kept is None or key not in kept:
                return None
            kept.move_to_end(key)
            return kept[key][0]

    def put(self, kind: str, key: Hashable, value: Any, *, weight: int = 1, limit: int = 1) -> None:
        """Keep a value; values of this kind weigh at most `limit` together."""
        with self._lock:
            kept = self._kinds.setdefault(kind, OrderedDict())
            kept[key] = value, weight
            kept.move_to_end(key)
            total = sum(each for _, each in kept.values())
            while len(kept) > 1 and total > limit:
                total -= kept.popitem(last=False)[1][1]

    def of(
        self,
        kind: str,
        key: Hashable,
        make: Callable[[], Value],
        *,
        weight: Callable[[Value], int] = lambda _: 1,
        limit: int = 1,
    ) -> Value:
        """The value, made now unless it is kept."""
        kept: Value | None = self.get(kind, key)
        if kept is not None:
            return kept
        value = make()
        self.put(kind, key, value, weight=weight(value), limit=limit)
        return value
