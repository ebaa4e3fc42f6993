"""Images that the terminal draws itself by escape sequences of kitty, iTerm2 or sixel, if it supports one."""

from __future__ import annotations

import base64
import contextlib
import io
import itertools
import math
import os
import re
import select
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from tbq.dashboard.sixel import sixel
from tbq.errors import DamageError, DependencyError
from tbq.export.pictures import picture
from tbq.plot.cells import Line, Span

if TYPE_CHECKING:
    from PIL import Image

Protocol = Literal["kitty", "iterm2", "sixel"]

_NEAREST, _BOX = 0, 4  # PIL's numbers for these filters
_CELL = 10, 20  # pixels, if the terminal does not report them
_MOST = 1600, 1200  # pixels of a transmitted image: the connection may be slow
_MOST_SIXELS = 640, 480  # sixel sequences are long and slow to encode

# Asks: kitty's protocol? which terminal? how large is a cell? Every terminal answers the last question, so that tbq
# does not wait for answers that never come.
_QUESTIONS = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[>q\x1b[16t\x1b[c"
_KITTY = re.compile(rb"\x1b_Gi=31;OK\x1b\\")
_NAME = re.compile(rb"\x1bP>\|([^\x1b]*)\x1b\\")
_SIZE = re.compile(rb"\x1b\[6;(\d{1,4});(\d{1,4})t")
_ATTRIBUTES = re.compile(rb"\x1b\[\?([\d;]*)c")
_PATIENCE = 1.0  # seconds; reached only if a terminal answers nothing

# The character that stands for a piece of an image in kitty's protocol, and the marks that number rows, from 0.
_PLACEHOLDER = "\U0010eeee"
_ROWS = (
    "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357\u035b\u0363\u0364"
    "\u0365\u0366\u0367\u0368\u0369\u036a\u036b\u036c\u036d\u036e\u036f\u0483\u0484\u0485\u0486\u0487\u0592\u0593\u0594"
    "\u0595\u0597\u0598\u0599\u059c\u059d\u059e\u059f\u05a0\u05a1\u05a8\u05a9\u05ab\u05ac\u05af\u05c4\u0610\u0611\u0612"
    "\u0613\u0614\u0615\u0616\u0617\u0657\u0658\u0659\u065a\u065b\u065d\u065e\u06d6\u06d7\u06d8\u06d9\u06da\u06db\u06dc"
)
_IDS = itertools.cycle(
    range(16, 256)
)  # image ids are sent as palette colours; the first colours belong to themes


class Graphics(NamedTuple):
    """The terminal's answer: a protocol, and the pixels of a cell."""

    protocol: Protocol
    cell: tuple[int, int] = _CELL


@dataclass(frozen=True)
class Drawing:
    """An image that the terminal draws: the lines of its cells, and the sequence to send.

    kitty gets `sequence` once, before the lines, and `removal` at the end. Other terminals get it each time after the
    lines were written, and any later output there removes the image.
    """

    lines: list[Line]
    sequence: str
    removal: str = ""

    @property
    def stays(self) -> bool:
        """Whether to send the image only once."""
        return bool(self.removal)


def understood(answer: bytes, environment: Mapping[str, str]) -> Graphics | None:
    """Parse a terminal's answer to the questions.

    >>> understood(b"\\x1bP>|XTerm(390)\\x1b\\\\\\x1b[6;18;9t\\x1b[?64;4;22c", {})
    Graphics(protocol='sixel', cell=(9, 18))
    >>> understood(b"\\x1b[?62;22c", {}) is None
    True
    """
    size = _SIZE.search(answer)
    cell = (int(size[2]), int(size[1])) if size and int(size[1]) and int(size[2]) else _CELL
    known = _NAME.search(answer)
    name = (known[1].decode("ascii", "replace") if known else environment.get("LC_TERMINAL", "")).lower()
    # Other terminals answer kitty's question too, but lack placeholders, which make an image part of the text.
    if _KITTY.search(answer) and name.startswith(("kitty", "ghostty")):
        return Graphics("kitty", cell)
    if name.startswith(("iterm2", "wezterm")):
        return Graphics("iterm2", cell)
    attributes = _ATTRIBUTES.search(answer)
    if attributes and b"4" in attributes[1].split(b";"):
        return Graphics("sixel", cell)
    return None


@contextlib.contextmanager
def asked() -> Iterator[list[Graphics]]:
    """Ask the terminal while the block runs, which hides the wait. The list gets the answer, if any.

    Does not ask within tmux or screen, which draw over images, nor without colour.
    """
    answers: list[Graphics] = []
    quiet = any(os.environ.get(name) for name in ("TMUX", "STY", "NO_COLOR"))
    if quiet or os.environ.get("TERM", "dumb") in ("dumb", "linux") or os.name == "nt":
        yield answers
        return
    import termios
    import tty

    source, target = sys.__stdin__, sys.__stderr__  # the streams that Textual uses
    assert source is not None and target is not None
    try:
        before = termios.tcgetattr(source)
        tty.setcbreak(source, termios.TCSANOW)
    except termios.error:  # the terminal is gone
        yield answers
        return
    try:
        target.write(_QUESTIONS)
        target.flush()
        yield answers
        protocol = understood(_answer(source.fileno()), os.environ)
        if protocol:
            answers.append(protocol)
    finally:
        termios.tcsetattr(source, termios.TCSANOW, before)


def _answer(source: int) -> bytes:
    """Read the terminal's answers, up to the answer to the last question."""
    answer = b""
    due = time.monotonic() + _PATIENCE
    while not _ATTRIBUTES.search(answer):
        if not select.select([source], [], [], max(due - time.monotonic(), 0.0))[0]:
            break
        got = os.read(source, 4096)
        answer += got
        if not got:
            break
    return answer


def drawing(data: bytes, room: int, height: int, graphics: Graphics) -> Drawing | None:
    """An encoded image in at most `room` × `height` cells; None if it cannot be decoded."""
    if room < 1 or height < 1:
        return None
    try:
        image = picture(data).convert("RGBA" if graphics.protocol != "sixel" else "RGB")
        wide, high = graphics.cell
        height = min(height, len(_ROWS))
        scale = min(room * wide / image.width, height * high / image.height)
        columns = min(max(math.ceil(image.width * scale / wide), 1), room)
        rows = min(max(math.ceil(image.height * scale / high), 1), height)
        image = _scaled(image, scale, grows=graphics.protocol == "sixel")
        if graphics.protocol == "kitty":
            return _kitty(image, columns, rows)
        lines: list[Line] = [[Span(" " * columns)] for _ in range(rows)]
        sequence = sixel(image) if graphics.protocol == "sixel" else _iterm2(image, columns, rows)
        return Drawing(lines, sequence)
    except (DamageError, DependencyError, OSError, ValueError, ZeroDivisionError, MemoryError):
        return None


def _scaled(image: Image.Image, scale: float, grows: bool) -> Image.Image:
    """The pixels that are shown, within limits; a small image grows here only if the terminal cannot enlarge it."""
    wide, high = _MOST_SIXELS if grows else _MOST
    scale = min(scale, wide / image.width, high / image.height)
    if scale >= 1 and not grows:
        return image
    size = max(round(image.width * scale), 1), max(round(image.height * scale), 1)
    return image.resize(size, _NEAREST if scale >= 1 else _BOX)


def _png(image: Image.Image) -> str:
    data = io.BytesIO()
    image.save(data, "png", compress_level=1)
    return base64.b64encode(data.getvalue()).decode("ascii")


def _kitty(image: Image.Image, columns: int, rows: int) -> Drawing:
    """Send the image once under a number; cells with placeholders in the colour of that number show it."""
    number, encoded = next(_IDS), _png(image)
    pieces = [encoded[at : at + 4096] for at in range(0, len(encoded), 4096)]
    sequence = ""
    for i, piece in enumerate(pieces):
        head = f"a=T,U=1,q=2,f=100,i={number},c={columns},r={rows}," if i == 0 else "q=2,"
        sequence += f"\x1b_G{head}m={int(i + 1 < len(pieces))};{piece}\x1b\\"
    lines: list[Line] = [
        [Span(f"{_PLACEHOLDER}{_ROWS[row]}{_ROWS[0]}{_PLACEHOLDER * (columns - 1)}", f"color({number})")]
        for row in range(rows)
    ]
    return Drawing(lines, sequence, f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\")


def _iterm2(image: Image.Image, columns: int, rows: int) -> str:
    encoded = _png(image)
    options = f"inline=1;width={columns};height={rows};preserveAspectRatio=1;doNotMoveCursor=1"
    return f"\x1b]1337;File={options};size={len(encoded) * 3 // 4}:{encoded}\x07"
