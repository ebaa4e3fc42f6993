"""The total norms of a model's parameters and gradients, put together from what several optimizers log in turn."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.write.pending import Derived, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.write.model_tensors import Counted


class Squares(NamedTuple):
    """The sum of the squares of a tensor. Once the counts have arrived, only this sum is kept."""

    kind: str
    rank: int | None
    value: Value


def squares_of(counted: Counted) -> Squares:
    """The sum of squares of a counted tensor."""
    value = Derived(lambda tally: tally.squares, counted.value)
    return Squares(counted.target.kind, counted.target.rank, value)


def total_norms(squares: list[Squares]) -> dict[str, Derived]:
    """The norms of all parameters, and of all gradients, by tag."""
    norms: dict[str, Derived] = {}
    for kind in ("parameters", "gradients"):
        same = [part for part in squares if part.kind == kind]
        ranks = {part.rank for part in same}
        if same and len(ranks) == 1:
            (rank,) = ranks
            tag = f"{kind}/norm" + ("" if rank is None else f"/rank_{rank}")
            norms[tag] = Derived(lambda *sums: math.sqrt(sum(sums)), *(part.value for part in same))
    return norms


def living(optimizers: weakref.WeakKeyDictionary[Any, Any]) -> list[Any]:
    """A copy of the keys: other threads may add some during iteration."""
    return [optimizer for ref in optimizers.keyrefs() if (optimizer := ref()) is not None]


class Round(NamedTuple):
    """What the optimizers logged since the last total norms, each optimizer at most once."""

    step: int | None  # the largest of their steps
    wall_time: float
    squares: list[Squares]
    owned: set[int]  # the parameters, by id


class Rounds:
    """Combines what the optimizers of a model log into rounds.

    A round is over when it has all expected parameters, or when an optimizer logs again. Optimizers that step less
    often, or skip a step, contribute what they logged last.
    """

    def __init__(self) -> None:
        self.now: Round | None = None
        self._reached: int | None = None  # the last step with logged total norms
        self._last: weakref.WeakKeyDictionary[Any, Round] = weakref.WeakKeyDictionary()

    def is_new(self, step: int | None) -> bool:
        """Whether no total norms have been logged at this step or a later one."""
        return step is None or self._reached is None or step > self._reached

    def others(self, owned: set[int]) -> Iterator[Squares]:
        """The squares that the optimizers of other parameters logged last."""
        for optimizer in living(self._last):
            last = self._last.get(optimizer)
            if last is not None and last.owned.isdisjoint(owned):
                yield from last.squares

    def keep(self, optimizer: Any, last: Round) -> None:
        """Remember what an optimizer logged, for rounds without it."""
        self._last[optimizer] = last

    def ended(self, step: int | None) -> None:
        """Note that the total norms of a round were logged."""
        self.now, self._reached = None, step

    def finish(self) -> Round | None:
        """End the current round; returns it with the contributions of other optimizers, or None without a round."""
        over, self.now = self.now, None
        if over is None or not self.is_new(over.step):
            return None
        self._reached = over.step
        return over._replace(squares=[*over.squares, *self.others(over.owned)])
