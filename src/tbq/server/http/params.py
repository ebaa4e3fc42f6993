"""`Params`: the checked parameters of a request; anything invalid is a clear error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tbq.arguments import bad
from tbq.errors import TbqError, UsageError

if TYPE_CHECKING:
    from tbq.server.live_log import LiveLog
    from tbq.server.sql.worker_pool import Job

_LONGEST = 100_000  # characters of a parameter


class NotFoundError(TbqError):
    """The requested item does not exist (any more)."""

    code = "not_found"


class TooMuchError(TbqError):
    """The answer would be too large."""

    code = "too_much"


class BusyError(TbqError):
    """Too many requests of this kind are being answered."""

    code = "busy"


class Params:
    """The parameters by name; an unknown or repeated parameter is an error."""

    def __init__(
        self, pairs: Iterable[tuple[str, str]], known: Sequence[str], job: Job | None = None
    ) -> None:
        #: for requests that other processes answer: ends their work if the client disconnects
        self.job = job
        self._values: dict[str, str] = {}
        for name, value in pairs:
            if name not in known:
                raise UsageError(
                    f"no parameter {name[:40]!r} here", hint=f"want {', '.join(known)}" if known else None
                )
            if name in self._values:
                raise UsageError(f"the parameter {name} is repeated")
            if len(value) > _LONGEST:
                raise TooMuchError(f"the parameter {name} is longer than {_LONGEST:,} characters")
            self._values[name] = value

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        """All parameters, as a key of a cache."""
        return tuple(sorted(self._values.items()))

    def text(self, name: str, default: str | None = None) -> str:
        """A text; required without a default."""
        value = self._values.get(name, default)
        if value is None:
            raise UsageError(f"the parameter {name} is missing")
        return value

    def optional(self, name: str) -> str | None:
        """A text; None if it is absent or empty."""
        return self._values.get(name) or None

    def choice(self, name: str, among: Sequence[str]) -> str:
        """One of these; the first if it is absent."""
        value = self._values.get(name) or among[0]
        if value not in among:
            raise bad(name, value[:100], f"one of {', '.join(among)}")
        return value

    def number(self, name: str, default: float | None = None) -> float | None:
        """A finite number."""
        value = self._values.get(name)
        if not value:
            return default
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise bad(name, value[:100], "a finite number")
        return number

    def whole(self, name: str, default: int, least: int = 0, most: int = 2**53) -> int:
        """A whole number."""
        value = self._values.get(name)
        if not value:
            return default
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise bad(name, value[:100], f"a whole number from {least:,} to {most:,}")
        return number

    def step(self, name: str = "step") -> int | None:
        """A step, which may be any 64-bit number; None if it is absent."""
        if not self._values.get(name):
            return None
        return self.whole(name, 0, -(2**63), 2**63 - 1)

    def flag(self, name: str) -> bool:
        """Whether it is 1 or true."""
        return self.choice(name, ("0", "1", "true", "false")) in ("1", "true")

    def run(self, log: LiveLog, name: str = "run") -> str:
        """The name of a run, by its number."""
        number = self.whole(name, -1)
        run = log.name_of(number)
        if run is None:
            raise NotFoundError(f"run {number} does not exist", hint="it may have been deleted")
        return run

    def runs(self, log: LiveLog, name: str = "runs") -> list[str]:
        """The names of runs: `*` or nothing for all, `-` for none, otherwise numbers and ranges (`0-99,105`).

        Runs that are gone are left out.
        """
        text = self._values.get(name) or "*"
        return log.shown() if text == "*" else log.among(ids_of(text, name))


def ids_of(text: str, name: str = "runs") -> list[int]:
    """The numbers in a list of numbers and ranges; `-` is the empty list.

    >>> ids_of("0-2,7"), ids_of("-")
    ([0, 1, 2, 7], [])
    """
    if text == "-":
        return []
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not (_is_number(first) and (not dash or _is_number(last))):
            raise bad(name, part[:40], "*, or numbers of runs such as 0-99,105")
        low, high = int(first), int(last) if dash else int(first)
        if high - low > 1_000_000 or len(numbers) > 1_000_000:
            raise TooMuchError(f"{name}: more than a million runs")
        numbers += range(low, high + 1)
    return numbers


def _is_number(text: str) -> bool:
    """Whether a text can be the number of a run; Python refuses to read thousands of digits."""
    return text.isascii() and text.isdigit() and len(text) <= 18
