"""How to decode: the options that all tables share, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, get_args

from tbq.arguments import choice, whole
from tbq.progress import Progress
from tbq.select import MAX_STEP, MIN_STEP, Names, Selection, Steps

#: Which rows of a resumed run count.
Restarts = Literal["resume", "keep", "last", "tensorboard", "split"]
#: What to do if a file is damaged.
OnError = Literal["warn", "raise", "ignore"]

RESTARTS: tuple[str, ...] = get_args(Restarts)
ON_ERROR: tuple[str, ...] = get_args(OnError)
EVERYTHING = Selection(None)
BLOCK = 256 * 1024
SPLIT = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class DecodeOptions:
    """How to decode; the same for every table."""

    tag: Selection = EVERYTHING
    steps: tuple[int, int] = (MIN_STEP, MAX_STEP)
    restarts: Restarts = "resume"
    threads: int | None = None
    progress: Progress | None = None
    columns: Sequence[str] | None = None  # the columns of scalars to store; None for all
    defer: bool = False
    block: int = BLOCK
    split: int = SPLIT
    general_only: bool = False  # switch the fast path off, so that tests can compare both

    @classmethod
    def of(cls, reading: Reading, **more: Any) -> DecodeOptions:
        """The options from the keywords of a table."""
        keywords: dict[str, Any] = {name: value for name, value in reading.items() if name != "on_error"}
        return cls(**keywords, **more)

    def __post_init__(self) -> None:
        choice("restarts", self.restarts, RESTARTS)
        if self.threads is not None:
            object.__setattr__(self, "threads", whole("threads", self.threads, least=1))


class Reading(TypedDict, total=False):
    """The keywords of every function that reads; `log.scalars` explains them."""

    restarts: Restarts
    threads: int | None
    progress: Progress | None
    on_error: OnError


class Selected(Reading, total=False):
    """The keywords of every table of values, besides `tag`."""

    run: Names
    steps: Steps


class Which(Reading, total=False):
    """The keywords of every function that returns one value: its step, and its run."""

    step: int | None
    run: str | None


#: The names of these keywords.
READING = tuple(Reading.__annotations__)
WHICH = ("step", "run", *READING)
SELECTED = ("run", "tag", "steps", *READING)
