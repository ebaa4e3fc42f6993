"""A logger for Lightning: replaces its `TensorBoardLogger`, with the same directories, tags and hparams. And a
callback that watches the model."""

from __future__ import annotations

import importlib
import os
import sys
import weakref
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError, missing
from tbq.write import hparams
from tbq.write import options as writer_options
from tbq.write.writer import SummaryWriter

if TYPE_CHECKING:
    from collections.abc import Mapping


def _package() -> tuple[str, str]:
    """The names of the packages of Lightning and its Fabric; the pair that the program has imported, if any."""
    names = [("lightning.pytorch", "lightning.fabric"), ("pytorch_lightning", "lightning_fabric")]
    for pytorch, fabric in sorted(names, key=lambda name: name[0] not in sys.modules):
        try:
            importlib.import_module(pytorch)
            return pytorch, fabric
        except ImportError:
            continue
    raise missing("lightning", needed_for="tbq.integrations.lightning")


_PYTORCH, _FABRIC = _package()
_callbacks: Any = importlib.import_module(f"{_PYTORCH}.callbacks")
_tensorboard: Any = importlib.import_module(f"{_PYTORCH}.loggers.tensorboard")
_rank_zero: Any = importlib.import_module(f"{_PYTORCH}.utilities.rank_zero")
_logger: Any = importlib.import_module(f"{_PYTORCH}.loggers.logger")
_convert: Any = importlib.import_module(f"{_FABRIC}.utilities.logger")
_fabric_logger: Any = importlib.import_module(f"{_FABRIC}.loggers.logger")
_filesystem: Any = importlib.import_module(f"{_FABRIC}.utilities.cloud_io")


class TbqLogger(_tensorboard.TensorBoardLogger):  # type: ignore[misc]
    """Lightning's `TensorBoardLogger` with a `tbq.SummaryWriter` as its `experiment`.

    It takes the arguments of `TensorBoardLogger`; others go to `SummaryWriter`. TensorBoard need not be installed,
    except for `log_graph`. `logger.watch(model)` logs weights and gradients at the trainer's steps.
    """

    _module: Any = None  # the LightningModule that is trained, as a weak reference
    _watched: tuple[tuple[Any, dict[str, Any]], ...] = ()  # models as weak references, and how to watch them

    def __init__(
        self,
        save_dir: str | os.PathLike[str] = ".",
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        log_graph: bool = False,
        default_hp_metric: bool = True,
        prefix: str = "",
        sub_dir: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        writer_options.check(options)
        try:
            super().__init__(
                save_dir, name, version, log_graph, default_hp_metric, prefix, sub_dir, **options
            )
        except ModuleNotFoundError:
            # Neither tensorboard nor tensorboardX is installed, and neither is needed.
            self._root_dir = os.fspath(save_dir)
            self._name = name or ""
            self._version = version
            self._sub_dir = None if sub_dir is None else os.fspath(sub_dir)
            self._default_hp_metric = default_hp_metric
            self._prefix = prefix
            self._fs = _filesystem.get_filesystem(self._root_dir)
            self._experiment: SummaryWriter | None = None
            self._kwargs = options
            self._log_graph = False
            self.hparams: Any = {}

    @property
    @_fabric_logger.rank_zero_experiment  # type: ignore[untyped-decorator]
    def experiment(self) -> SummaryWriter:
        """The writer; opened when it is first used, by rank 0 only."""
        if self._experiment is None:
            self._experiment = SummaryWriter(self.log_dir, **self._kwargs)
            self._experiment._reports_unclosed = False  # Lightning closes it, unless training fails
            for model, options in self._watched:
                self._attach(model(), options)
        return self._experiment

    @_rank_zero.rank_zero_only  # type: ignore[untyped-decorator]
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log numbers, tensors, and dictionaries of them (`add_scalars`)."""
        numbers = {}
        for name, value in _convert._add_prefix(metrics, self._prefix, self.LOGGER_JOIN_CHAR).items():
            if isinstance(value, dict):
                self.experiment.add_scalars(name, value, step)
            else:
                numbers[name] = value
        self.experiment.log(numbers, step)

    @_rank_zero.rank_zero_only  # type: ignore[untyped-decorator]
    def log_hyperparams(self, params: Any, metrics: Any = None, step: int | None = None) -> None:
        """Log hyperparameters, for TensorBoard and for `hparams.yaml`."""
        params = _convert._convert_params(params)
        omegaconf = sys.modules.get("omegaconf")
        if omegaconf is not None and isinstance(params, omegaconf.Container):
            self.hparams = omegaconf.OmegaConf.merge(self.hparams, params)
        else:
            self.hparams.update(params)
        if metrics is None:
            metrics = {"hp_metric": -1} if self._default_hp_metric else {}
        elif not isinstance(metrics, dict):
            metrics = {"hp_metric": metrics}
        if metrics:
            flat = self._sanitize_params(_convert._flatten_dict(params))
            metrics = _convert._add_prefix(metrics, self._prefix, self.LOGGER_JOIN_CHAR)
            hparams.declare(self.experiment, flat, metrics, step)
            self.experiment.log(metrics, step)

    @_rank_zero.rank_zero_only  # type: ignore[untyped-decorator]
    def watch(self, model: Any, **options: Any) -> None:
        """`SummaryWriter.watch`: log weights and gradients of `model`.

        It applies to every `fit` with this logger, also in a process that a strategy spawns. The steps are those of
        the trainer, unless you pass `start`.
        """
        others = tuple(each for each in self._watched if each[0]() not in (None, model))
        self._watched = (*others, (weakref.ref(model), options))
        if self._experiment is not None:
            self._attach(model, options)

    def _attach(self, model: Any, options: dict[str, Any]) -> None:
        if model is not None and self._experiment is not None:
            clock = None if "start" in options else self._trainer_step
            self._experiment.watch(model, **options).clock = clock

    def _trainer_step(self) -> int | None:
        return None if self._module is None else _step_of(self._module)

    @_rank_zero.rank_zero_only  # type: ignore[untyped-decorator]
    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Log the graph of the model, which Lightning passes at the start of each run."""
        self._module = weakref.ref(model)
        super().log_graph(model, input_array)

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process opens a writer of its own, and watches the copies of the models."""
        state: dict[str, Any] = super().__getstate__()
        watched = [(model(), options) for model, options in self._watched]
        state["_watched"] = [(model, options) for model, options in watched if model is not None]
        state["_module"] = None if self._module is None else self._module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._watched = tuple((weakref.ref(model), options) for model, options in state["_watched"])
        module = state["_module"]
        self._module = None if module is None else weakref.ref(module)

    @_rank_zero.rank_zero_only  # type: ignore[untyped-decorator]
    def finalize(self, status: str) -> None:
        """Close the writer; another `fit` continues the run in a new file."""
        super().finalize(status)
        self._experiment = None


def _step_of(module: weakref.ref[Any]) -> int | None:
    """The step of the current batch, under which Lightning logs its metrics; None outside of `fit`."""
    loop = getattr(getattr(module(), "_trainer", None), "fit_loop", None)
    step = getattr(getattr(loop, "epoch_loop", None), "_batches_that_stepped", None)
    return step if isinstance(step, int) else None


class TbqWatch(_callbacks.Callback):  # type: ignore[misc]
    """Logs weights and gradients of the model every `every` steps of the trainer, to its `TbqLogger`.

    It also takes Lightning's own `TensorBoardLogger` after `tbq.patch()`. The other arguments are those of
    `SummaryWriter.watch`. In YAML, its `class_path` is `tbq.integrations.lightning.TbqWatch`.
    """

    def __init__(
        self,
        every: int = 100,
        gradients: bool = True,
        parameters: bool = True,
        statistics: Sequence[str] = ("norm",),
        histograms: bool = True,
    ) -> None:
        self._options: dict[str, Any] = {
            "every": every,
            "gradients": gradients,
            "parameters": parameters,
            "statistics": statistics,
            "histograms": histograms,
        }

    @_rank_zero.rank_zero_only  # type: ignore[untyped-decorator]
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Watch the model until the logger closes its writer, at the end of `fit`."""
        loggers = [each for each in trainer.loggers if isinstance(each, _tensorboard.TensorBoardLogger)]
        writers = [each.experiment for each in loggers if isinstance(each.experiment, SummaryWriter)]
        if not writers and not trainer.fast_dev_run:
            raise UsageError(
                "TbqWatch found no logger of tbq in this Trainer",
                hint="pass logger=TbqLogger(), or call tbq.patch() before the Trainer is created",
                code="argument",
            )
        for writer in writers:
            writer.watch(pl_module, **self._options).clock = partial(_step_of, weakref.ref(pl_module))
