"""The norms of all parameters of a model, and of all gradients, which several optimizers log one after the other."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.write.pending import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.write.model_tensors import Counted


class Squares(Value):
    """The sum of the squares of a tensor. Nothing else of its counts is kept when they have arrived."""

    def __init__(self, counted: Counted) -> None:
        self.kind = counted.target.kind
        self.rank = counted.target.rank
        self._value: Value | None = counted.value
        self._number = 0.0

    def ready(self) -> bool:
        """Whether the tensor was counted."""
        value = self._value
        return value is None or value.ready()

    def result(self) -> float:
        """The number; several norms may ask for it."""
        if self._value is not None:
            self._number = self._value.result().squares
            self._value = None
        return self._number

    def probe(self) -> None:
        """Ask for the counts."""
        if self._value is not None:
            self._value.probe()


class TotalNorm(Value):
    """The norm of several tensors taken as one."""

    def __init__(self, squares: list[Squares]) -> None:
        self._squares = squares

    def ready(self) -> bool:
        """Whether all were counted."""
        return all(part.ready() for part in self._squares)

    def result(self) -> float:
        """The number."""
        return math.sqrt(sum(part.result() for part in self._squares))

    def probe(self) -> None:
        """Ask for the counts."""
        for part in self._squares:
            part.probe()


def total_norms(squares: list[Squares]) -> dict[str, TotalNorm]:
    """The norms of all parameters, and of all gradients, by tag."""
    norms: dict[str, TotalNorm] = {}
    for kind in ("parameters", "gradients"):
        same = [part for part in squares if part.kind == kind]
        ranks = {part.rank for part in same}
        if same and len(ranks) == 1:
            rank = same[0].rank
            norms[f"{kind}/norm" + ("" if rank is None else f"/rank_{rank}")] = TotalNorm(same)
    return norms


def living(optimizers: weakref.WeakKeyDictionary[Any, Any]) -> list[Any]:
    """The keys of now: threads may add others while one goes through them."""
    return [optimizer for ref in optimizers.keyrefs() if (optimizer := ref()) is not None]


class Round(NamedTuple):
    """What optimizers have logged, each of them once, since the norms of all were logged."""

    step: int | None  # the greatest of theirs
    wall_time: float
    squares: list[Squares]
    owned: set[int]  # the parameters, by id


class Rounds:
    """Puts together what the optimizers of a model log.

    A round is over when all expected parameters are in it, or when an optimizer logs again. Optimizers that step less
    often, or have skipped a step, count with what they have logged last.
    """

    def __init__(self) -> None:
        self.now: Round | None = None
        self._reached: int | None = None  # the last step of which norms were logged
        self._last: weakref.WeakKeyDictionary[Any, Round] = weakref.WeakKeyDictionary()

    def is_new(self, step: int | None) -> bool:
        """Whether no norms were logged at this step, or a later one."""
        return step is None or self._reached is None or step > self._reached

    def others(self, owned: set[int]) -> Iterator[Squares]:
        """What optimizers of other parameters have logged last."""
        for optimizer in living(self._last):
            last = self._last.get(optimizer)
            if last is not None and last.owned.isdisjoint(owned):
                yield from last.squares

    def keep(self, optimizer: Any, last: Round) -> None:
        """Remember what an optimizer has logged, for the rounds without it."""
        self._last[optimizer] = last

    def ended(self, step: int | None) -> None:
        """The norms of a round were logged."""
        self.now, self._reached = None, step

    def finished(self) -> Round | None:
        """The round of now with all that belongs to it, which is over; None if there is nothing to log."""
        over, self.now = self.now, None
        if over is None or not self.is_new(over.step):
            return None
        self._reached = over.step
        return over._replace(squares=[*over.squares, *self.others(over.owned)])
