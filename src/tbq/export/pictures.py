"""Encoded images: their format by their first bytes, decoding by PIL, and thumbnails for a page."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tbq.arrow import bytes_columns
from tbq.errors import DamageError, missing

if TYPE_CHECKING:
    import pyarrow as pa
    from PIL import Image

#: format of the table -> its media type
MEDIA_TYPES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "bmp": "image/bmp",
    "webp": "image/webp",
    "tiff": "image/tiff",
}
_THUMBNAIL = 96  # pixels
_SHOWN = 1 << 20  # larger images do not go into a notebook in full size


def picture(data: Any) -> Image.Image:
    """The PIL image of encoded bytes, fully decoded."""
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
            hint="log.images() has its bytes; tbq media writes it as a file",
        ) from failure
    return image


def pictures(table: pa.Table) -> Iterator[tuple[str, list[Image.Image | None]]]:
    """The byte columns that hold images, as PIL images; None for a cell that cannot be decoded."""
    for name in bytes_columns(table):
        cells = table[name].to_pylist()
        if any(sniff(cell) for cell in cells):
            yield name, [_decoded(cell) for cell in cells]


def _decoded(data: bytes | None) -> Image.Image | None:
    try:
        return picture(data) if sniff(data) else None
    except DamageError:
        return None


def thumbnail(data: bytes | None) -> str | None:
    """An `<img>` element with the image itself, small; None if browsers cannot show it.

    >>> thumbnail(b"no image") is None
    True
    """
    kind = MEDIA_TYPES.get(sniff(data) or "")
    if not data or kind is None or kind == "image/tiff":
        return None
    if len(data) > _SHOWN:
        try:
            small = picture(data)
            small.thumbnail((2 * _THUMBNAIL, 2 * _THUMBNAIL))
            out = io.BytesIO()
            small.convert("RGBA").save(out, "PNG")
        except (DamageError, ImportError):
            return None
        data, kind = out.getvalue(), "image/png"
    text = base64.b64encode(data).decode("ascii")
    return (
        f'<img src="data:{kind};base64,{text}" '
        f'style="max-width:{_THUMBNAIL}px;max-height:{_THUMBNAIL}px;image-rendering:auto">'
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
