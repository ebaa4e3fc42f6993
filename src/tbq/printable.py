"""Names and messages as a terminal may show them: whatever a log calls its runs and tags, on one line and harmless."""

from __future__ import annotations

GAP = "…"


def printable(text: str, keep: str = "") -> str:
    """The text without control characters, but for those in `keep`; a line break is shown as a sign.

    >>> printable("loss\\n")
    'loss⏎'
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in keep else _SIGNS.get(letter, "\ufffd") for letter in text
    )


_SIGNS = {"\n": "⏎", "\r": " ", "\t": " "}


def shortened(text: str, room: int) -> str:
    """The start and the end of a text that has no room: names of runs and tags differ at their ends.

    >>> shortened("experiments/train/loss", 12)
    'expe…in/loss'
    """
    if len(text) <= room:
        return text
    tail = (room - 1) * 2 // 3
    return f"{text[: room - 1 - tail]}{GAP}{text[len(text) - tail :]}"


def counted(count: int, noun: str) -> str:
    """How many of something there are.

    >>> counted(1, "file"), counted(2000, "file")
    ('1 file', '2,000 files')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"
