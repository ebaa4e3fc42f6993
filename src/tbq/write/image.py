"""Encodes images: arrays with axes in any order as PNG, batches as a grid, videos as GIF, files unchanged."""

from __future__ import annotations

import io
import math
import struct
import sys
import zlib
from typing import TYPE_CHECKING, Any

from tbq import wire
from tbq.arguments import described
from tbq.errors import missing
from tbq.write.arguments import as_array, bad, real

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def encode(value: Any, dataformats: str, argument: str = "img_tensor") -> bytes:
    """A Summary.Image of an array, a PIL image, or an encoded file."""
    if isinstance(value, bytes | bytearray | memoryview):
        return from_file(bytes(value), argument)
    if type(value).__module__.partition(".")[0] == "PIL":
        mode = value.mode if value.mode in ("L", "RGB", "RGBA") else "RGBA" if "A" in value.mode else "RGB"
        value, dataformats = value.convert(mode), "HW" if mode == "L" else "HWC"
    pixels = to_bytes(to_hwc(real(as_array(value, argument), argument), dataformats, argument))
    return summary(pixels.shape, to_png(pixels))


def summary(shape: tuple[int, ...], encoded: bytes) -> bytes:
    """A Summary.Image of encoded bytes whose pixels are `shape` (height, width, channels)."""
    height, width, channels = shape
    size = wire.integer(1, height) + wire.integer(2, width) + wire.integer(3, channels)
    return size + wire.text(4, encoded)


def to_hwc(array: Array, dataformats: str, argument: str) -> Array:
    """An array with axes as `dataformats` names them, as height × width × 3 or 4; batches become a grid."""
    import numpy as np

    if not isinstance(dataformats, str) or sorted(dataformats.upper()) not in (
        sorted("NCHW"),
        sorted("CHW"),
        sorted("HW"),
    ):
        raise bad("dataformats", f"got {described(dataformats)}, want an order of NCHW, CHW or HW")
    axes = dataformats.upper()
    if array.ndim != len(axes):
        raise bad(
            argument, f"got shape {array.shape}, want {len(axes)} axes, {axes}", hint="pass dataformats="
        )
    if array.size == 0:
        raise bad(argument, f"got shape {array.shape}, which has no pixels")
    if "N" in axes:
        image = grid(array.transpose([axes.index(axis) for axis in "NCHW"]), argument).transpose(1, 2, 0)
    elif "C" in axes:
        image = array.transpose([axes.index(axis) for axis in "HWC"])
    else:
        image = array.transpose([axes.index(axis) for axis in "HW"])[:, :, np.newaxis]
    if image.shape[2] == 1:
        image = np.repeat(image, 3, axis=2)
    if image.shape[2] not in (3, 4):
        raise bad(
            argument,
            f"got {image.shape[2]} channels in shape {array.shape}, want 1, 3 or 4",
            hint="if the channels are on another axis, pass dataformats=, such as dataformats='HWC'",
        )
    return image


def grid(batch: Array, argument: str, columns: int = 8) -> Array:
    """N × C × H × W as one C × (rows · H) × (columns · W) picture."""
    import numpy as np

    if batch.shape[1] == 1:
        batch = np.repeat(batch, 3, axis=1)
    if batch.shape[1] not in (3, 4):
        raise bad(argument, f"got {batch.shape[1]} channels, want 1, 3 or 4", hint="pass dataformats=")
    count, channels, height, width = batch.shape
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    canvas = np.zeros((channels, height * rows, width * columns), dtype=batch.dtype)
    for i in range(count):
        y, x = i // columns * height, i % columns * width
        canvas[:, y : y + height, x : x + width] = batch[i]
    return canvas


def to_bytes(array: Array) -> Array:
    """Pixels as uint8. Other types are scaled from [0, 1] and clipped; NaN becomes black."""
    import numpy as np

    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    scaled = np.nan_to_num(array.astype(np.float32) * np.float32(255), nan=0.0)
    return np.ascontiguousarray(scaled.clip(0, 255).astype(np.uint8))


def to_png(pixels: Array) -> bytes:
    """A PNG of height × width × 3 or 4 bytes, encoded by Pillow if it is installed."""
    try:
        from PIL import Image
    except ImportError:
        return plain_png(pixels)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format="PNG")
    return out.getvalue()


def plain_png(pixels: Array) -> bytes:
    """A PNG made with only zlib: larger than Pillow's, but every reader can read it."""
    import numpy as np

    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), dtype=np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)

    def part(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", body) + part(b"IEND", b"")


def from_file(data: bytes, argument: str) -> bytes:
    """A Summary.Image of an encoded file, unchanged."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 33:
        width, height, _, color = struct.unpack(">IIBB", data[16:26])
        return summary((height, width, {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}.get(color, 3)), data)
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        width, height = struct.unpack("<HH", data[6:10])
        return summary((height, width, 3), data)
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise missing("pillow", needed_for="encoded images other than PNG and GIF", extra="media") from None
    try:
        with Image.open(io.BytesIO(data)) as image:
            return summary((image.height, image.width, len(image.getbands())), data)
    except UnidentifiedImageError:
        raise bad(argument, f"got {len(data)} bytes that are not an image file: {data[:8]!r}…") from None


def boxes(value: Any, box_tensor: Any, dataformats: str, rescale: float, labels: list[str] | None) -> bytes:
    """A Summary.Image with red boxes (xmin, ymin, xmax, ymax) and their labels drawn on it."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise missing("pillow", needed_for="add_image_with_boxes", extra="media") from None
    corners = real(as_array(box_tensor, "box_tensor"), "box_tensor")
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise bad("box_tensor", f"got shape {corners.shape}, want [boxes, 4]: xmin, ymin, xmax, ymax")
    if labels is not None and len(labels) != len(corners):
        labels = None
    pixels = to_bytes(to_hwc(real(as_array(value, "img_tensor"), "img_tensor"), dataformats, "img_tensor"))
    image = Image.fromarray(pixels)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default()
    for i, (left, top, right, bottom) in enumerate(corners.tolist()):
        line = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(line, width=2, fill="Red")
        if labels is not None:
            x0, y0, x1, y1 = font.getbbox(labels[i])
            width, height = x1 - x0, y1 - y0
            margin = math.ceil(0.05 * height)
            draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
            draw.text((left + margin, bottom - height - margin), labels[i], fill="black", font=font)
    size = (int(image.width * rescale), int(image.height * rescale))
    if size != image.size:
        image = image.resize(size, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, format="PNG")
    return summary(pixels.shape, out.getvalue())


def figures(figure: Any, close: bool) -> tuple[Array, str]:
    """Matplotlib figures as pixels, and the order of their axes."""
    import numpy as np

    if isinstance(figure, list | tuple):
        return np.stack([_figure(page, close) for page in figure]), "NHWC"
    return _figure(figure, close), "HWC"


def _figure(figure: Any, close: bool) -> Array:
    import numpy as np

    if not hasattr(figure, "canvas"):
        raise bad("figure", f"got {described(figure)}, want a matplotlib figure or a list of them")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
    pyplot = sys.modules.get("matplotlib.pyplot")
    if close and pyplot is not None:
        pyplot.close(figure)
    return pixels


def video(value: Any, fps: float) -> bytes:
    """A Summary.Image with a GIF of batch × time × channels × height × width, the batch side by side."""
    import numpy as np

    try:
        from PIL import Image
    except ImportError:
        raise missing("pillow", needed_for="add_video", extra="media") from None
    if not isinstance(fps, int | float) or not fps > 0:
        raise bad("fps", f"got {described(fps)}, want frames per second")
    array = real(as_array(value, "vid_tensor"), "vid_tensor")
    if array.ndim != 5 or array.size == 0 or array.shape[2] not in (1, 3):
        raise bad("vid_tensor", f"got shape {array.shape}, want [N, T, C, H, W] with 1 or 3 channels")
    count, time, channels, height, width = array.shape
    room = 1 << (count - 1).bit_length()  # the batch is padded to a power of two, as torch does
    if room > count:
        array = np.concatenate([array, np.zeros((room - count, *array.shape[1:]), array.dtype)])
    rows = 2 ** ((count.bit_length() - 1) // 2)
    columns = room // rows
    frames = array.reshape(rows, columns, time, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    frames = to_bytes(frames.reshape(time, rows * height, columns * width, channels))
    images = [Image.fromarray(frame if channels == 3 else frame[:, :, 0]) for frame in frames]
    out = io.BytesIO()
    images[0].save(
        out,
        format="GIF",
        save_all=True,
        append_images=images[1:],
        duration=1000 / fps,
        loop=0,
        optimize=False,
    )
    return summary(frames.shape[1:], out.getvalue())
