"""The writer's methods for images, figures, videos, audio and text; each kind has its own encoder module."""

from __future__ import annotations

from typing import Any

from tbq import wire
from tbq.arguments import described
from tbq.write.arguments import as_array, as_tag, bad
from tbq.write.core import Core

# SummaryMetadata of plugin text.
_TEXT = wire.metadata("text")


class Media(Core):
    """`add_image` and similar methods."""

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image: uint8, or floats in [0, 1], with axes in the order of `dataformats`.

        It may also be a PIL image, or the bytes of a PNG, JPEG, GIF or WebP file, which are stored unchanged.

        >>> writer.add_image("noise", np.random.rand(3, 8, 8), 0)
        """
        from tbq.write import image

        as_tag(tag)
        self._add(tag, wire.IMAGE, image.encode(img_tensor, dataformats), b"", global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add a batch of images, or a list of CHW or HWC images, as a grid.

        >>> writer.add_images("batch", np.random.rand(4, 3, 8, 8), 100)
        >>> writer.add_images("pair", [np.zeros((8, 8, 3)), np.ones((8, 8, 3))], 100, dataformats="HWC")
        """
        from tbq.write import image

        if isinstance(img_tensor, list | tuple) and "N" not in str(dataformats).upper():
            dataformats = f"N{dataformats}"
        as_tag(tag)
        self._add(tag, wire.IMAGE, image.encode(img_tensor, dataformats), b"", global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """Add an image with boxes [xmin, ymin, xmax, ymax] drawn on it.

        >>> boxes = [[2, 2, 10, 12], [8, 4, 30, 30]]
        >>> writer.add_image_with_boxes("objects", np.zeros((3, 32, 32)), boxes, 100, labels=["cat", "dog"])
        """
        from tbq.write import image

        as_tag(tag)
        labels = [labels] if isinstance(labels, str) else labels
        payload = image.boxes(img_tensor, box_tensor, dataformats, rescale, labels)
        self._add(tag, wire.IMAGE, payload, b"", global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: Any = None
    ) -> None:
        """Add a matplotlib figure, or a list of them as a grid; `close` closes it afterwards.

        >>> from matplotlib.figure import Figure
        >>> figure = Figure()
        >>> lines = figure.subplots().plot([1, 3, 2])
        >>> writer.add_figure("curve", figure, 100)
        """
        from tbq.write import image

        as_tag(tag)
        pixels, dataformats = image.figures(figure, close)
        self._add(tag, wire.IMAGE, image.encode(pixels, dataformats, "figure"), b"", global_step, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: Any = None,
        dataformats: str = "NTCHW",
    ) -> None:
        """Add a video [N, T, C, H, W] as an animated GIF; uint8, or floats in [0, 1].

        >>> writer.add_video("rollout", np.random.rand(1, 10, 3, 32, 32), 100, fps=10)
        """
        from tbq.write import image

        as_tag(tag)
        if not isinstance(dataformats, str) or sorted(dataformats.upper()) != sorted("NTCHW"):
            raise bad("dataformats", f"got {described(dataformats)}, want an order of NTCHW")
        array = as_array(vid_tensor, "vid_tensor")
        if array.ndim == 5:
            array = array.transpose([dataformats.upper().index(axis) for axis in "NTCHW"])
        self._add(tag, wire.IMAGE, image.video(array, fps), b"", global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: Any = None,
    ) -> None:
        """Add audio: samples in [-1, 1], mono or stereo ([frames, 2]), or the bytes of a WAV file.

        >>> tone = np.sin(np.arange(8000) * 2 * np.pi * 440 / 8000)
        >>> writer.add_audio("tone", tone, 100, sample_rate=8000)
        """
        from tbq.write import audio

        as_tag(tag)
        self._add(tag, wire.AUDIO, audio.encode(snd_tensor, sample_rate), b"", global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: Any = None) -> None:
        """Add text, which TensorBoard shows as Markdown; the tag gets torch's suffix `/text_summary`.

        >>> writer.add_text("config", "**lr** = 0.1", 0)
        """
        from tbq.select import TEXT_SUFFIX

        if not isinstance(text_string, str):
            raise bad("text_string", f"got {described(text_string)}, want a str")
        payload = wire.string_tensor([_utf8(text_string)], [1])
        self._add(as_tag(tag) + TEXT_SUFFIX, wire.TENSOR, payload, _TEXT, global_step, walltime)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise bad(
            "text_string", f"has a lone surrogate at {error.start}, which UTF-8 cannot encode"
        ) from None
