"""How much to read at a time: much that is new is read in pieces, so that what was read is soon on the screen."""

from __future__ import annotations

_PIECE = 0.15  # seconds that a piece takes, about
_LEAST, _MOST = 2 << 20, 512 << 20  # bytes of a piece


class Pieces:
    """The bytes to read next: at first none, so that the names of runs are there at once."""

    def __init__(self) -> None:
        self.next = 0

    def took(self, seconds: float, left: int) -> None:
        """Adapt the next piece to how long this one took, if it was full."""
        if self.next and left:
            self.next = int(self.next * min(max(_PIECE / max(seconds, 1e-3), 0.25), 4.0))
        self.next = min(max(self.next, _LEAST), _MOST)
