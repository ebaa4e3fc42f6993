"""Drawings without UTF-8: each sign that the locale cannot show becomes one ASCII character."""

from __future__ import annotations

import codecs
import os
from typing import TextIO

_NAME = "tbq.drawing"
_SIGNS = {
    **dict.fromkeys("─━╌┄–—−", "-"), **dict.fromkeys("│┃╎┆▏▎▍▌▋▊▉", "|"), **dict.fromkeys("└┘┌┐├┤┬┴┼╭╮╰╯", "+"),
    **dict(zip("▁▂▃▄▅▆▇█", "_.-=+*%#", strict=True)), **dict(zip("░▒▓▀", ".:#'", strict=True)),
    **dict(zip("●○◐◆✕×≁·…±", "*o@%xx~.~+", strict=True)), **dict(zip("←↑→↓▲▼▶◀≤≥", "<^>v^v><<>", strict=True)),
    "⏎": " ",
}  # fmt: skip


def draw_in_ascii(stream: TextIO) -> None:
    """Make a terminal's stream show drawings in ASCII if the terminal has no UTF-8; escape what has no such sign.

    Files and pipes keep their encoding: data stays exact. `drawing` is for the drawings in them.
    """
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    codecs.register_error(_NAME, _replace)
    if stream.isatty() and not has_utf8(stream):
        reconfigure(encoding="ascii", errors=_NAME)
    else:
        reconfigure(errors=_NAME if stream.isatty() else "backslashreplace")


def drawing(text: str, stream: TextIO) -> str:
    """A drawing as the stream shows it, a terminal or a pipe: its signs in ASCII without UTF-8, names unchanged."""
    if text.isascii() or has_utf8(stream):
        return text
    return "".join(letter if letter.isascii() else in_ascii(letter) or letter for letter in text)


def has_utf8(stream: TextIO) -> bool:
    """Whether a stream shows UTF-8, by its encoding and by the locale that the user set.

    In the C locale Python writes UTF-8 anyway, so the encoding alone does not say it.
    """
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "utf-8"
    return "utf" in locale.lower() and (stream.encoding or "utf-8").lower().startswith("utf")


def in_ascii(letter: str) -> str | None:
    """The ASCII character for a sign of a drawing; None if it has none.

    >>> in_ascii("─"), in_ascii("⣿"), in_ascii("⠁"), in_ascii("é")
    ('-', '#', "'", None)
    """
    dots = ord(letter) - 0x2800
    if not 0 <= dots < 256:
        return _SIGNS.get(letter)
    if dots.bit_count() > 5:
        return "#"
    above, below = dots & 0b00011011, dots & 0b11100100  # the upper and the lower two rows
    return ":" if above and below else "'" if above else "." if below else " "


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(
        in_ascii(each) or each.encode("ascii", "backslashreplace").decode() for each in letters
    ), error.end
