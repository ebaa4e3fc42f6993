"""A callback for Ray Tune: one run per trial, in its directory, with the tags of Tune's own TensorBoard callback."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow.fs import copy_files

from tbq.errors import missing
from tbq.write import hparams, options
from tbq.write.init import RunWriter
from tbq.write.reported import hparams as flat

try:
    from ray.tune.logger import TBXLoggerCallback
    from ray.tune.result import TIMESTEPS_TOTAL, TRAINING_ITERATION
    from ray.tune.utils import flatten_dict
except ImportError:
    raise missing("ray[tune]", needed_for="tbq.integrations.ray") from None


class TbqCallback(TBXLoggerCallback):  # type: ignore[misc]
    """Logs each trial to its own directory: its results as `ray/tune/<metric>`, and its hyperparameters.

    Tune then does not add its own TensorBoard callback, which has the same tags. NaN is logged too, hyperparameters
    that a scheduler has changed have their new values, and neither tensorboardX nor TensorBoard is needed. A trial that
    continues adds a file to its run; a trial that fails is a run that `crashed`. The arguments go to `SummaryWriter`.
    """

    def __init__(self, **settings: Any) -> None:
        options.check(settings)
        self._settings = settings
        self._trial_writer: dict[Any, RunWriter] = {}
        self._trial_result: dict[Any, dict[str, Any]] = {}  # the base class fills it

    def log_trial_start(self, trial: Any) -> None:
        """Open the run of a trial that starts or continues."""
        before = self._trial_writer.get(trial)
        if before is not None:
            before.close()
        trial.init_local_path()
        self._trial_writer[trial] = RunWriter(trial.local_path, **self._settings)
        self._trial_result[trial] = {}

    def log_trial_result(self, iteration: int, trial: Any, result: dict[str, Any]) -> None:
        """Log a result, and with the first one the hyperparameters."""
        super().log_trial_result(iteration, trial, result)
        writer = self._trial_writer[trial]
        step = result.get(TIMESTEPS_TOTAL) or result[TRAINING_ITERATION]
        for name, value in flatten_dict(result, delimiter="/").items():
            if isinstance(value, float) and math.isnan(value):  # the base class leaves these out
                writer.add_scalar(f"ray/tune/{name}", value, step)
        if writer.config is None:
            logged = self._trial_result[trial].items()
            self._declare(trial, (name for name, value in logged if np.ndim(value) == 0))

    def _declare(self, trial: Any, metrics: Any) -> None:
        """Log the hyperparameters that Tune varies."""
        writer, present = self._trial_writer[trial], flatten_dict(trial.config)
        writer.config = {
            name: present.get(name, value) for name, value in (trial.evaluated_params or {}).items()
        }
        hparams.declare(writer, flat(writer.config), metrics)

    def log_trial_end(self, trial: Any, failed: bool = False) -> None:
        """Close the run of a trial, with the last line of its error if it has failed."""
        writer = self._trial_writer.get(trial)
        if writer is None:
            return
        if writer.config is None:
            self._declare(trial, ())
        writer.finish(failed=_error(trial) if failed else "")
        del self._trial_writer[trial], self._trial_result[trial]

    def on_experiment_end(self, trials: list[Any], **info: Any) -> None:
        """Close the runs of trials that did not end, such as after Ctrl-C."""
        del trials, info
        for trial, writer in list(self._trial_writer.items()):
            self.log_trial_end(trial, failed=True)
            if writer.path is not None:  # Tune has copied its directories before
                storage = trial.storage
                target = f"{storage.trial_fs_path}/{writer.path.name}"
                copy_files(str(writer.path), target, destination_filesystem=storage.storage_filesystem)


def _error(trial: Any) -> str:
    """The last line of a trial's `error.txt`."""
    try:
        lines = Path(trial.error_file or "").read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        lines = []
    return next((line.strip() for line in reversed(lines) if line.strip()), "the trial did not end")
