"""Images on a terminal: by its own protocol if it has one, otherwise by half blocks."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

from tbq.arguments import choice, whole
from tbq.kinds import single
from tbq.plot.blocks import blocks_of
from tbq.plot.cells import painted

if TYPE_CHECKING:
    from PIL import Image

    from tbq.decode.options import Which
    from tbq.decode.reader import Reader

PROTOCOLS = ("blocks", "kitty", "iterm")
_CHUNK = 4096  # bytes of a message to kitty
_LARGEST = 2048  # pixels per side of an image sent to a terminal


def image_text(
    reader: Reader, tag: str, index: int, width: int, height: int, protocol: str, which: Which
) -> str:
    """The image of a tag, in at most `width` × `height` cells."""
    choice("protocol", protocol, PROTOCOLS)
    width, height = whole("width", width, least=1, most=1000), whole("height", height, least=1, most=1000)
    image = single.image(reader, tag, index, **which)
    if protocol == "blocks":
        return painted(blocks_of(image, width, height), colour=True)
    # A cell is about twice as high as wide; small images grow to at most eight times their size.
    columns = min(width, max(1, round(height * 2 * image.width / image.height)), image.width)
    data = base64.b64encode(_png(image)).decode("ascii")
    return _kitty(data, columns) if protocol == "kitty" else _iterm(data, columns)


def _png(image: Image.Image) -> bytes:
    """Re-encode the image, so that only pixels reach the terminal."""
    shown: Any = image.convert("RGBA")
    shown.thumbnail((_LARGEST, _LARGEST))
    out = io.BytesIO()
    shown.save(out, "PNG")
    return out.getvalue()


def _kitty(data: str, columns: int) -> str:
    parts = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    out = []
    for i, part in enumerate(parts):
        head = f"f=100,a=T,c={columns}," if i == 0 else ""
        out.append(f"\x1b_G{head}m={int(i + 1 < len(parts))};{part}\x1b\\")
    return "".join(out)


def _iterm(data: str, columns: int) -> str:
    return f"\x1b]1337;File=inline=1;width={columns};preserveAspectRatio=1:{data}\x07"
