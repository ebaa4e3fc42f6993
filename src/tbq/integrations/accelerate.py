"""A tracker for accelerate: `Accelerator(log_with=TbqTracker("exp1", "runs"))`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from tbq.errors import missing
from tbq.write import hparams
from tbq.write import options as writer_options
from tbq.write.reported import ReportedValues
from tbq.write.writer import SummaryWriter

try:
    import yaml
    from accelerate.tracking import GeneralTracker, on_main_process
    from accelerate.utils import extract_model_from_parallel
except ImportError:
    raise missing("accelerate", needed_for="tbq.integrations.accelerate") from None


class TbqTracker(GeneralTracker):  # type: ignore[misc]
    """Replaces accelerate's TensorBoard tracker; further arguments go to `tbq.SummaryWriter`.

    Values may be tensors on a GPU. Hyperparameters are logged to the run itself and, as in accelerate's own tracker,
    to `<time>/hparams.yml` below it. Keep the tracker and call `tracker.watch(model)` in every process: the
    main process logs weights and gradients. (`accelerator.get_tracker` has no tracker in the other processes.)
    """

    name = "tbq"
    requires_logging_directory = True

    def __init__(self, run_name: str, logging_dir: str | os.PathLike[str] = "runs", **options: Any) -> None:
        super().__init__()
        writer_options.check(options)
        self.run_name = run_name
        self.logging_dir = logging_dir
        self._options = options
        self._writer: SummaryWriter | None = None
        self._values = ReportedValues()

    @property
    def tracker(self) -> SummaryWriter:
        """The writer."""
        if self._writer is None:
            self._writer = SummaryWriter(Path(self.logging_dir, self.run_name), **self._options)
            self._writer._reports_unclosed = False
        return self._writer

    @on_main_process  # type: ignore[untyped-decorator]
    def start(self) -> None:
        """Open the run, once accelerate has started."""
        _ = self.tracker

    @on_main_process  # type: ignore[untyped-decorator]
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Log hyperparameters."""
        plain = {
            name: value if isinstance(value, str | bool | int | float | None) else str(value)
            for name, value in values.items()
        }
        hparams.declare(self.tracker, plain, ())
        directory = Path(self.tracker.log_dir, str(time.time()))
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "hparams.yml").write_text(yaml.dump(plain), encoding="utf-8")

    @on_main_process  # type: ignore[untyped-decorator]
    def log(self, values: dict[str, Any], step: int | None = None, **keywords: Any) -> None:
        """Log numbers and tensors, texts, and dictionaries of numbers; other values are named in a warning."""
        numbers, texts, groups = self._values.sort(values)
        for name, text in texts.items():
            self.tracker.add_text(name, text, step, **keywords)
        for name, group in groups.items():
            self.tracker.add_scalars(name, group, step, **keywords)
        self.tracker.log(numbers, step, **keywords)

    @on_main_process  # type: ignore[untyped-decorator]
    def watch(self, model: Any, **options: Any) -> None:
        """`SummaryWriter.watch`, also of a model that `accelerator.prepare` has wrapped; in the main process only."""
        self.tracker.watch(extract_model_from_parallel(model), **options)

    @on_main_process  # type: ignore[untyped-decorator]
    def log_images(self, values: dict[str, Any], step: int | None = None, **keywords: Any) -> None:
        """Log batches of images."""
        for name, value in values.items():
            self.tracker.add_images(name, value, step, **keywords)

    @on_main_process  # type: ignore[untyped-decorator]
    def finish(self) -> None:
        """Close the writer."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
