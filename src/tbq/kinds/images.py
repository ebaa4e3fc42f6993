"""Images: their encoded bytes as tables, as PIL images, and as thumbnails in notebooks."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

from tbq.errors import DamageError, UsageError, missing
from tbq.table import Table

if TYPE_CHECKING:
    from PIL import Image

#: format of the table -> its media type and its file ending
MEDIA_TYPES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "bmp": "image/bmp",
    "webp": "image/webp",
    "tiff": "image/tiff",
}
_SHOWN = 1 << 20  # larger images are not put into a notebook as they are


class ImageTable(Table):
    """The `images` table; `image(row)` gives one as a PIL image."""

    def image(self, row: int) -> Image.Image:
        """One row as a PIL image."""
        if not 0 <= row < len(self):
            raise UsageError(f"there is no row {row}, the table has {len(self):,}")
        return picture(self.to_arrow()["data"][row].as_buffer())


def picture(data: Any) -> Image.Image:
    """The PIL image of encoded bytes, decoded whole."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise missing("pillow", needed_for="image()", extra="media") from None
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data))
            image.load()
    except (
        UnidentifiedImageError,
        OSError,
        SyntaxError,
        ValueError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as failure:
        raise DamageError(
            f"the image cannot be decoded: {failure}",
            code="bad_image",
            hint="its bytes are in log.images(), or as a file: tbq media",
        ) from failure
    return image


def thumbnail(data: bytes | None, size: int = 96) -> str | None:
    """An `<img>` element that holds the image itself, small; None for what is no image a browser shows.

    >>> thumbnail(b"no image") is None
    True
    """
    kind = MEDIA_TYPES.get(sniff(data) or "")
    if not data or kind is None or kind == "image/tiff":
        return None
    if len(data) > _SHOWN:
        try:
            small = picture(data)
            small.thumbnail((2 * size, 2 * size))
            out = io.BytesIO()
            small.convert("RGBA").save(out, "PNG")
        except (DamageError, ImportError):
            return None
        data, kind = out.getvalue(), "image/png"
    text = base64.b64encode(data).decode("ascii")
    return (
        f'<img src="data:{kind};base64,{text}" '
        f'style="max-width:{size}px;max-height:{size}px;image-rendering:auto">'
    )


def sniff(data: bytes | None) -> str | None:
    """The format of encoded bytes by their signature.

    >>> sniff(b"GIF89a...")
    'gif'
    """
    if not data:
        return None
    for start, name in (
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"\xff\xd8\xff", "jpeg"),
        (b"GIF8", "gif"),
        (b"BM", "bmp"),
    ):
        if data.startswith(start):
            return name
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
