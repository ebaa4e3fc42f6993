"""Images as sixels: six rows of pixels at a time, colour by colour."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

_COLOURS = 128
_EXACT, _FAST = 0, 2  # PIL's numbers for these quantizers
_BAND = 6  # rows of pixels
_RUN = re.compile(r"(.)\1{3,}")


def _short(run: re.Match[str]) -> str:
    return f"!{len(run[0])}{run[1]}"


def sixel(image: Image.Image) -> str:
    """The escape sequence that draws an RGB image at the cursor.

    >>> from PIL import Image
    >>> sixel(Image.new("RGB", (5, 2), "red"))
    '\\x1bP0;1q"1;1;5;2#0;2;100;0;0#0!5B-\\x1b\\\\'
    """
    few = image.getcolors(_COLOURS) is not None
    small = image.quantize(_COLOURS, _EXACT if few else _FAST, dither=0)
    pixels = np.asarray(small)
    palette = np.asarray(small.getpalette() or [], np.int64).reshape(-1, 3)
    used, columns = np.unique(pixels), np.arange(image.width)
    parts = [f'\x1bP0;1q"1;1;{image.width};{image.height}']
    for colour in used.tolist():
        red, green, blue = ((palette[colour] * 100 + 127) // 255).tolist()
        parts.append(f"#{colour};2;{red};{green};{blue}")
    for top in range(0, len(pixels), _BAND):
        band = pixels[top : top + _BAND]
        marks = np.full((int(used[-1]) + 1, image.width), 63, np.uint8)  # "?", and a bit for each pixel
        for row, colours in enumerate(band):
            marks[colours, columns] += np.uint8(1 << row)
        lines = []
        for colour in np.unique(band).tolist():
            text = marks[colour].tobytes().decode("ascii").rstrip("?")
            lines.append(f"#{colour}" + _RUN.sub(_short, text))
        parts += ["$".join(lines), "-"]
    return "".join([*parts, "\x1b\\"])
