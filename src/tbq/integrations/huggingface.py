"""A callback for the Trainer of transformers: the same directories and tags as its own TensorBoard callback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tbq.errors import missing
from tbq.write.writer import SummaryWriter

try:
    from transformers import TrainerCallback
    from transformers.integrations.integration_utils import default_logdir, rewrite_logs
except ImportError:
    raise missing("transformers", needed_for="tbq.integrations.huggingface") from None


class TbqCallback(TrainerCallback):  # type: ignore[misc]
    """Logs what `Trainer` reports, its arguments, and the configuration of the model.

    `log_dir` is by default that of transformers: `$TENSORBOARD_LOGGING_DIR`, or `<output_dir>/runs/<date>_<host>`.
    `watch=100` logs histograms and norms of all weights and gradients every 100 steps. The other arguments go to
    `SummaryWriter`. Pass `report_to="none"` to the Trainer so that it does not log a second time.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        *,
        writer: SummaryWriter | None = None,
        watch: int | None = None,
        **options: Any,
    ) -> None:
        self.writer = writer
        self._log_dir = log_dir or os.environ.get("TENSORBOARD_LOGGING_DIR")
        self._watch = watch
        self._options = options

    def _opened(self, args: Any, state: Any) -> SummaryWriter:
        if self.writer is None:
            directory = self._log_dir or Path(args.output_dir, default_logdir())
            if state.is_hyper_param_search and state.trial_name is not None:
                directory = Path(args.output_dir, default_logdir(), state.trial_name)
            self.writer = SummaryWriter(Path(directory).expanduser(), **self._options)
        return self.writer

    def on_train_begin(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        """Log the arguments and the model's configuration."""
        del control
        model = keywords.get("model")
        if self._watch and model is not None and state.is_world_process_zero:
            self._opened(args, state).watch(model, every=self._watch, start=state.global_step)
        if not state.is_world_process_zero:
            return
        writer = self._opened(args, state)
        writer.add_text("args", args.to_json_string())
        if getattr(model, "config", None) is not None:
            writer.add_text("model_config", model.config.to_json_string())  # type: ignore[union-attr]

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **keywords: Any
    ) -> None:
        """Log numbers and texts."""
        del control, keywords
        if not state.is_world_process_zero:
            return
        writer = self._opened(args, state)
        numbers = {}
        for name, value in rewrite_logs(logs or {}).items():
            if isinstance(value, str):
                writer.add_text(name, value, state.global_step)
            elif isinstance(value, int | float) or getattr(value, "ndim", None) == 0:
                numbers[name] = value
        writer.log(numbers, state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        """Close the writer; a later `evaluate` or `train` opens the run again."""
        del args, state, control, keywords
        if self.writer is not None:
            self._log_dir = self.writer.log_dir
            self.writer.close()
            self.writer = None
