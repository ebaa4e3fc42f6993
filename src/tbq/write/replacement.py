"""The writer that `tbq.patch()` substitutes for torch's and tensorboardX's: after `close()`, logging reopens it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.write.arguments import as_array
from tbq.write.writer import SummaryWriter

if TYPE_CHECKING:
    import os

_ORDER = ("log_dir", "comment", "purge_step", "max_queue", "flush_secs", "filename_suffix", "write_to_disk")


class Replacement(SummaryWriter):
    """`SummaryWriter` with the arguments of torch's and tensorboardX's classes, and their way of reopening.

    Programs close their writer and go on logging, as Lightning does between `fit` and `test`. Here, as in those
    classes, the next event after `close()` begins a new file of the run. Threads, destructors and `atexit` functions
    may log until the process ends.
    """

    _hparams_in_run = False  # the program's runs keep the names that torch and tensorboardX give them
    # The user may not be able to change the program, and the classes of torch and tensorboardX do not warn either.
    _reports_unclosed = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """The arguments of tensorboardX's class, whose seventh is `write_to_disk`; None stands for a default."""
        if len(arguments) > len(_ORDER):
            raise TypeError(f"SummaryWriter takes {len(_ORDER)} positional arguments, got {len(arguments)}")
        named = dict(zip(_ORDER, arguments, strict=False))
        super().__init__(
            **{name: value for name, value in named.items() if value is not None},
            **{name: value for name, value in options.items() if value is not None},
        )

    def _open(self, directory: str, start: float | None = None, origin: str | None = None) -> None:
        super()._open(directory, start, origin)
        self._file.outlives_exit = True

    def _sub_writer(self, name: str) -> SummaryWriter:
        line = super()._sub_writer(name)
        line._file.outlives_exit = True
        return line

    def close(self) -> None:
        """Flush and close the file; logging again opens another one."""
        if self._file.closed:
            super().close()
            return
        self.unwatch()
        failure = self._of_each_line(SummaryWriter.close)
        self._lines.clear()
        self._file.rest()
        if failure is not None:
            raise failure
        self._report()


class TensorboardXWriter(Replacement):
    """Replaces tensorboardX's writer; arguments that it orders in its own way come in its order."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """The arguments of `Replacement`."""
        self.scalar_dict: dict[str, list[list[Any]]] = {}
        super().__init__(*arguments, **options)

    def add_scalar(  # type: ignore[override]
        self,
        tag: Any,
        scalar_value: Any,
        global_step: Any = None,
        walltime: Any = None,
        display_name: str = "",
        summary_description: str = "",
        **options: Any,
    ) -> None:
        """Add a scalar."""
        super().add_scalar(
            tag,
            scalar_value,
            global_step,
            walltime,
            display_name=display_name,
            summary_description=summary_description,
            **options,
        )

    def add_scalars(
        self,
        main_tag: Any,
        tag_scalar_dict: Any,
        global_step: Any = None,
        walltime: Any = None,
        **options: Any,
    ) -> None:
        """Add several lines of a chart, and keep them for `export_scalars_to_json`."""
        walltime = time.time() if walltime is None else walltime
        super().add_scalars(main_tag, tag_scalar_dict, global_step, walltime, **options)
        for name, value in tag_scalar_dict.items():
            points = self.scalar_dict.setdefault(f"{self.log_dir}/{main_tag}/{name}", [])
            points.append([walltime, global_step, float(as_array(value, "tag_scalar_dict").squeeze())])

    def export_scalars_to_json(self, path: str | os.PathLike[str]) -> None:
        """Write what `add_scalars` has logged since the last call, as JSON."""
        Path(path).write_text(json.dumps(self.scalar_dict), encoding="utf-8")
        self.scalar_dict = {}

    def add_hparams(  # type: ignore[override]
        self, hparam_dict: Any, metric_dict: Any, name: Any = None, global_step: Any = None, **options: Any
    ) -> None:
        """Add hyperparameters."""
        super().add_hparams(hparam_dict, metric_dict, global_step=global_step, name=name, **options)

    def add_image_with_boxes(  # type: ignore[override]
        self,
        tag: Any,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: Any = "CHW",
        labels: Any = None,
        rescale: float = 1,
    ) -> None:
        """Add an image with boxes."""
        super().add_image_with_boxes(
            tag, img_tensor, box_tensor, global_step, walltime, rescale, dataformats, labels
        )
