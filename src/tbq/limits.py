"""How much a compressed file may unpack to: the one guard against small files that would fill a disk or the memory."""

from __future__ import annotations

import contextlib
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from tbq.arguments import bad
from tbq.numbers import sized

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What `max_unpacked=` takes: bytes, or text with a unit ("4GB").
Size = int | str

# Logs and weights rarely compress to less than a fiftieth; a file of zeros compresses to a thousandth.
RATIO = 100
FLOOR = 256 << 20
DEFLATE = 1032  # the highest compression ratio of gzip and zlib

_SIZE = r"([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgtpe])(i?))?b?"
_command_limit: ContextVar[int | None] = ContextVar("max_unpacked", default=None)


def size_of(text: Size, name: str = "max_unpacked") -> int:
    """A size as bytes; `name` is the argument for error messages.

    >>> size_of("4GB"), size_of("1.5 GiB"), size_of(1000)
    (4000000000, 1610612736, 1000)
    """
    match = re.fullmatch(_SIZE, text.strip(), re.IGNORECASE) if isinstance(text, str) else None
    if isinstance(text, int) and not isinstance(text, bool) and text > 0:
        return text
    if match is None:
        raise bad(name, text, "bytes, or a size with its unit, such as 4GB")
    unit = (1024 if match[3] else 1000) ** (" kmgtpe".index(match[2].lower()) if match[2] else 0)
    return int(float(match[1]) * unit)


@contextlib.contextmanager
def allowing(max_unpacked: Size) -> Iterator[None]:
    """Apply `--max-unpacked` of a command: the limit of every call in the block that sets none itself."""
    before = _command_limit.set(size_of(max_unpacked))
    try:
        yield
    finally:
        _command_limit.reset(before)


class Limit(NamedTuple):
    """The most that a file may unpack to: `most` bytes, or by default 256 MiB and a hundred times its size.

    >>> Limit.of("1GB").refusal(2_000_000_000, 1_000_000)
    'it unpacks to 2.0 GB, the limit is 1.0 GB; to raise it: --max-unpacked 2.1GB, max_unpacked="2.1GB"'
    >>> Limit.of(None).refusal(100_000_000, 1_000) is None
    True
    """

    most: int | None

    @classmethod
    def of(cls, max_unpacked: Size | None) -> Limit:
        """The limit of a keyword, else of the command, else the default."""
        return cls(_command_limit.get() if max_unpacked is None else size_of(max_unpacked))

    def bytes_of(self, packed: int, floor: int = FLOOR) -> int:
        """How many bytes a file of this size may unpack to; files that share an allowance pass the rest as `floor`."""
        return max(floor, 0) + RATIO * packed if self.most is None else self.most

    def refusal(self, unpacked: int, packed: int, what: str = "it") -> str | None:
        """Why this many bytes may not be unpacked, and what to do; None if they may."""
        if unpacked <= self.bytes_of(packed):
            return None
        limit = self._shown(self.bytes_of(packed))
        return f"{what} unpacks to {sized(unpacked)}, the limit is {limit}; {_raise(unpacked)}"

    def exceeded(self, packed: int, floor: int = FLOOR) -> str:
        """The message for a file whose beginning alone was unpacked."""
        limit = self._shown(self.bytes_of(packed, floor))
        return f"unpacks to more than the limit of {limit}: only its beginning is read; {_raise(DEFLATE * packed)}"

    def _shown(self, size: int) -> str:
        return sized(size) if self.most is not None else f"{sized(size)} (256 MiB and {RATIO} times its size)"


class Budget:
    """What the arrays of one file may unpack to, each and together: many names can point to the same few bytes.

    >>> budget = Budget(Limit(None), 1_000)
    >>> [budget.refusal(200_000_000, 900) is None for _ in range(3)]
    [True, False, False]
    """

    def __init__(self, limit: Limit, size: int) -> None:
        self._limit = limit
        self._size = size
        self._unpacked = 0

    def refusal(self, unpacked: int, packed: int) -> str | None:
        """Why an array may not be unpacked, and what to do; if it may, returns None and counts it."""
        refusal = self._limit.refusal(unpacked, packed)
        if refusal is None and self._limit.most is None:
            together = f"it and the arrays before it, in a file of {sized(self._size)}, together"
            refusal = self._limit.refusal(self._unpacked + unpacked, self._size, together)
        if refusal is None:
            self._unpacked += unpacked
        return refusal


def _raise(size: int) -> str:
    raised = sized(size * 21 // 20).replace(" ", "")
    return f'to raise it: --max-unpacked {raised}, max_unpacked="{raised}"'
