"""A callback for Keras: the same runs and tags as Keras' own, for every backend, without TensorFlow's writer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq import wire
from tbq.arguments import described
from tbq.errors import missing
from tbq.write import options as writer_options
from tbq.write.arguments import bad
from tbq.write.writer import SummaryWriter

try:
    import keras
except ImportError:
    raise missing("keras", needed_for="tbq.integrations.keras") from None

if TYPE_CHECKING:
    import os

_HINT = "omit {name}, or use keras.callbacks.TensorBoard beside this callback"


class TbqCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Logs the metrics of `fit` to the runs `train` and `validation`, as `epoch_<metric>`.

    The arguments are those of `keras.callbacks.TensorBoard`, in its order. `histogram_freq=n` logs histograms of all
    weights every n epochs, `write_graph` the model for TensorBoard's graph page, `write_steps_per_second` the speed.
    `update_freq` is "epoch", "batch", or a number of batches; the last two also log `batch_<metric>`. Images of
    weights, profiles and embeddings are not supported. The other arguments go to `SummaryWriter`.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: str | int = "epoch",
        profile_batch: Any = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        unsupported = {
            "write_images": write_images,
            "profile_batch": profile_batch,
            "embeddings_freq": embeddings_freq,
            "embeddings_metadata": embeddings_metadata,
        }
        for name, value in unsupported.items():
            if value:
                raise bad(
                    name, f"got {described(value)}, which tbq does not support", hint=_HINT.format(name=name)
                )
        if isinstance(histogram_freq, bool) or not isinstance(histogram_freq, int) or histogram_freq < 0:
            raise bad("histogram_freq", f"got {described(histogram_freq)}, want a number of epochs")
        if update_freq not in ("epoch", "batch") and not (isinstance(update_freq, int) and update_freq > 0):
            raise bad(
                "update_freq", f"got {described(update_freq)}, want 'epoch', 'batch' or a number of batches"
            )
        writer_options.check(options)
        self.log_dir = Path(log_dir).absolute()
        self._every = update_freq if isinstance(update_freq, int) else {"epoch": 0, "batch": 1}[update_freq]
        self._histograms = histogram_freq
        self._graph = write_graph
        self._speed = write_steps_per_second
        self._options = options
        self._writers: dict[str, SummaryWriter] = {}
        self._batches = 0
        self._batch_began = self._epoch_began = 0.0
        self._epoch_batches = 0
        self._fitting = False
        self._graph_due = False

    def _writer(self, run: str) -> SummaryWriter:
        if run not in self._writers:
            self._writers[run] = SummaryWriter(self.log_dir, run=run, **self._options)
            self._writers[run]._reports_unclosed = False  # if `fit` fails, nothing closes it
        return self._writers[run]

    def _log(self, run: str, metrics: dict[str, Any], step: int) -> None:
        if metrics:
            self._writer(run).log(metrics, step)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Log the model."""
        del logs
        self._batches = 0
        self._fitting = True
        self._graph_due = self._graph
        if self._graph_due and self.model.built:
            self._log_graph()

    def _log_graph(self) -> None:
        """Log the model, if TensorBoard can draw it. A model without an `Input` is known after the first batch."""
        self._graph_due = False
        if type(self.model).__name__ not in ("Functional", "Sequential"):
            return
        try:
            text = self.model.to_json()
        except Exception:
            # A layer cannot be described: log no graph, as Keras' callback does.
            return
        payload = wire.string_tensor([text.encode()], [])
        metadata = wire.metadata("graph_keras_model", b"1")
        # Without a step, so that it does not warn: in a resumed run, an explicit step 0 would be a step back.
        self._writer("train").add_summary(wire.value("keras", wire.TENSOR, payload, metadata))

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Note when the epoch began."""
        del epoch, logs
        self._epoch_began, self._epoch_batches = time.perf_counter(), self._batches

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Note when the batch began."""
        del batch, logs
        self._batch_began = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Log the batch if it is due."""
        del batch
        if self._graph_due:
            self._log_graph()
        self._batches += 1
        if self._every and self._batches % self._every == 0:
            metrics = {f"batch_{name}": value for name, value in (logs or {}).items()}
            if self._speed:
                metrics["batch_steps_per_second"] = 1 / (time.perf_counter() - self._batch_began)
            self._log("train", metrics, self._batches)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Log the epoch; metrics that start with `val_` go to the run `validation`."""
        train, validation = {}, {}
        for name, value in (logs or {}).items():
            if name.startswith("val_"):
                validation[f"epoch_{name.removeprefix('val_')}"] = value
            else:
                train[f"epoch_{name}"] = value
        train |= self._learning_rates()
        if self._speed:
            seconds = time.perf_counter() - self._epoch_began
            train["epoch_steps_per_second"] = (self._batches - self._epoch_batches) / seconds
        self._log("train", train, epoch)
        self._log("validation", validation, epoch)
        if self._histograms and epoch % self._histograms == 0:
            for layer in self.model.layers:
                for weight in layer.weights:
                    tag = f"{weight.path.replace(':', '_')}/histogram"
                    self._writer("train").add_histogram(tag, getattr(weight, "value", weight), epoch)

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Log an evaluation under the number of training steps before it."""
        steps = getattr(getattr(self.model, "optimizer", None), "iterations", None)
        if steps is not None:
            step = int(keras.ops.convert_to_numpy(steps))
            metrics = {f"evaluation_{name}_vs_iterations": value for name, value in (logs or {}).items()}
            self._log("validation", metrics, step)
        if not self._fitting:
            self._close()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Close the files; another `fit` continues in new files."""
        del logs
        self._fitting = False
        self._close()

    def _close(self) -> None:
        writers, self._writers = self._writers, {}
        for writer in writers.values():
            writer.close()

    def _learning_rates(self) -> dict[str, float]:
        optimizer = getattr(self.model, "optimizer", None)
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
        several = getattr(optimizer, "optimizers", None)
        if several is not None:
            return {f"epoch_learning_rate_{each.name}": _number(each.learning_rate) for each in several}
        rate = getattr(optimizer, "learning_rate", None)
        return {} if rate is None else {"epoch_learning_rate": _number(rate)}


def _number(value: Any) -> float:
    return float(keras.ops.convert_to_numpy(value))
