"""A Keras callback over `SummaryWriter`: the same runs and tags as Keras' own callback, without TensorFlow's writer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.arguments import described
from tbq.errors import missing
from tbq.write.arguments import bad
from tbq.write.writer import SummaryWriter

try:
    import keras
except ImportError:
    raise missing("keras", needed_for="tbq.write.keras") from None

if TYPE_CHECKING:
    import os


class TensorBoard(keras.callbacks.Callback):  # type: ignore[misc]
    """Logs the metrics of `fit` to the runs `train` and `validation`, as `epoch_<metric>`.

    `update_freq` is "epoch", "batch", or a number of batches; the last two also log `batch_<metric>`. The other
    arguments go to `SummaryWriter`.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str] = "logs", update_freq: str | int = "epoch", **options: Any
    ) -> None:
        super().__init__()
        if update_freq not in ("epoch", "batch") and not (isinstance(update_freq, int) and update_freq > 0):
            raise bad(
                "update_freq", f"got {described(update_freq)}, want 'epoch', 'batch' or a number of batches"
            )
        self.log_dir = Path(log_dir).absolute()
        self._every = update_freq if isinstance(update_freq, int) else {"epoch": 0, "batch": 1}[update_freq]
        self._options = options
        self._writers: dict[str, SummaryWriter] = {}
        self._batches = 0

    def _log(self, run: str, metrics: dict[str, Any], step: int) -> None:
        if not metrics:
            return
        if run not in self._writers:
            self._writers[run] = SummaryWriter(self.log_dir, run=run, **self._options)
        self._writers[run].log(metrics, step)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Log the batch if it is due."""
        del batch
        if self._every and self._batches % self._every == 0:
            self._log(
                "train", {f"batch_{name}": value for name, value in (logs or {}).items()}, self._batches
            )
        self._batches += 1

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Log the epoch; metrics that start with `val_` go to the run `validation`."""
        train, validation = {}, {}
        for name, value in (logs or {}).items():
            if name.startswith("val_"):
                validation[f"epoch_{name.removeprefix('val_')}"] = value
            else:
                train[f"epoch_{name}"] = value
        rate = getattr(getattr(self.model, "optimizer", None), "learning_rate", None)
        if rate is not None and "epoch_learning_rate" not in train:
            train["epoch_learning_rate"] = keras.ops.convert_to_numpy(rate)
        self._log("train", train, epoch)
        self._log("validation", validation, epoch)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Close the files; another `fit` continues in new files."""
        del logs
        writers, self._writers = self._writers, {}
        for writer in writers.values():
            writer.close()
