"""An output format for the logger of Stable-Baselines3: `model.set_logger(configure("runs/exp1"))`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.errors import missing
from tbq.write import hparams
from tbq.write.writer import SummaryWriter

try:
    from stable_baselines3.common import logger as sb3
except ImportError:
    raise missing("stable-baselines3", needed_for="tbq.integrations.sb3") from None

if TYPE_CHECKING:
    from collections.abc import Iterable


class TbqOutputFormat(sb3.KVWriter):  # type: ignore[misc]
    """Logs the same as Stable-Baselines3's own TensorBoard format, with `tbq.SummaryWriter`, which gets `options`."""

    def __init__(self, folder: str | os.PathLike[str], **options: Any) -> None:
        self.writer = SummaryWriter(folder, **options)
        self.writer._reports_unclosed = False  # `learn` does not close it

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...] | None], step: int = 0
    ) -> None:
        """Log the values recorded since the last `dump`, except those excluded for TensorBoard."""
        numbers = {}
        for key, value in sorted(key_values.items()):
            if "tensorboard" in (key_excluded.get(key) or ()):
                continue
            if isinstance(value, str):
                self.writer.add_text(key, value, step)
            elif isinstance(value, np.ScalarType):
                numbers[key] = value
            elif isinstance(value, sb3.Video):
                self.writer.add_video(key, value.frames, step, value.fps)
            elif isinstance(value, sb3.Figure):
                self.writer.add_figure(key, value.figure, step, close=value.close)
            elif isinstance(value, sb3.Image):
                self.writer.add_image(key, value.image, step, dataformats=value.dataformats)
            elif isinstance(value, sb3.HParam):
                # Only their names: the numbers of the metrics are not points of these curves.
                hparams.declare(self.writer, dict(value.hparam_dict), dict(value.metric_dict))
            elif hasattr(value, "ndim"):  # arrays and tensors
                self.writer.add_histogram(key, value, step)
        self.writer.log(numbers, step)

    def close(self) -> None:
        """Close the writer."""
        self.writer.close()


def configure(
    folder: str | os.PathLike[str], formats: Iterable[str] = ("stdout",), **options: Any
) -> sb3.Logger:
    """A logger for `model.set_logger`: Stable-Baselines3's `formats`, and tbq's."""
    directory = os.fspath(folder)
    outputs = [sb3.make_output_format(name, directory) for name in formats]
    return sb3.Logger(folder=directory, output_formats=[*outputs, TbqOutputFormat(directory, **options)])
