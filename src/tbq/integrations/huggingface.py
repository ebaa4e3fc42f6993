"""A callback for the Trainer of transformers: the same directories and tags as its own TensorBoard callback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tbq.arguments import described
from tbq.errors import missing
from tbq.write import options as writer_options
from tbq.write.arguments import bad
from tbq.write.reported import ReportedValues
from tbq.write.writer import SummaryWriter

try:
    from transformers import TrainerCallback
    from transformers.integrations.integration_utils import default_logdir, rewrite_logs
except ImportError:
    raise missing("transformers", needed_for="tbq.integrations.huggingface") from None


class TbqCallback(TrainerCallback):  # type: ignore[misc]
    """Logs what `Trainer` reports, its arguments, and the configuration of the model.

    `log_dir` defaults to that of transformers: `$TENSORBOARD_LOGGING_DIR`, or `<output_dir>/runs/<date>_<host>`.
    You may also pass a `SummaryWriter`, as `log_dir` or `writer=`: the callback uses it and leaves it open.
    `watch=100` logs histograms and norms of all weights and gradients every 100 steps. The other arguments go to
    `SummaryWriter`. Pass `report_to="none"` to the Trainer so that it does not log a second time.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | SummaryWriter | None = None,
        *,
        writer: SummaryWriter | None = None,
        watch: int | None = None,
        **options: Any,
    ) -> None:
        if isinstance(log_dir, SummaryWriter):
            log_dir, writer = None, log_dir
        if writer is not None and not isinstance(writer, SummaryWriter):
            raise bad("writer", f"got {described(writer)}, want a tbq.SummaryWriter")
        if log_dir is not None and not isinstance(log_dir, str | os.PathLike):
            raise bad("log_dir", f"got {described(log_dir)}, want a path or a tbq.SummaryWriter")
        writer_options.check(options)
        self.writer = writer
        self._keeps_open = writer is not None
        self._training = False
        self._log_dir = log_dir or os.environ.get("TENSORBOARD_LOGGING_DIR")
        self._watch = watch
        self._options = options
        self._values = ReportedValues()

    def _opened(self, args: Any, state: Any) -> SummaryWriter:
        if self.writer is None:
            directory = self._log_dir or Path(args.output_dir, default_logdir())
            if state.is_hyper_param_search and state.trial_name is not None:
                directory = Path(args.output_dir, default_logdir(), state.trial_name)
            self.writer = SummaryWriter(Path(directory).expanduser(), **self._options)
            self.writer._reports_unclosed = False  # if training fails, nothing closes it
        return self.writer

    def on_train_begin(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        """Log the arguments and the model's configuration."""
        del control
        self._training = True
        if not state.is_world_process_zero:
            return
        model = keywords.get("model")
        writer = self._opened(args, state)
        if self._watch and model is not None:
            writer.watch(model, every=self._watch, start=state.global_step)
        writer.add_text("args", args.to_json_string())
        if getattr(model, "config", None) is not None:
            writer.add_text("model_config", model.config.to_json_string())  # type: ignore[union-attr]

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **keywords: Any
    ) -> None:
        """Log numbers and texts; other values are named in a warning."""
        del control, keywords
        if not state.is_world_process_zero:
            return
        writer = self._opened(args, state)
        numbers, texts, _ = self._values.sort(rewrite_logs(logs or {}), groups=False)
        for name, text in texts.items():
            writer.add_text(name, text, state.global_step)
        writer.log(numbers, state.global_step)
        if not self._training:  # `evaluate` without training: nothing else would close it
            self._close()

    def on_train_end(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        """Close the writer; a later `evaluate` or `train` opens the run again."""
        del args, state, control, keywords
        self._training = False
        self._close()

    def _close(self) -> None:
        if self.writer is None:
            return
        if self._keeps_open:
            self.writer.unwatch()
            self.writer.flush()
            self.writer._file.buffer.forget_steps()  # a later `evaluate` is at the last step again
            return
        self._log_dir = self.writer.log_dir
        self.writer.close()
        self.writer = None
