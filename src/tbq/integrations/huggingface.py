"""A callback for the Trainer of transformers: the same directories and tags as its own TensorBoard callback."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.arguments import described
from tbq.errors import missing
from tbq.write import hparams
from tbq.write import options as writer_options
from tbq.write.arguments import bad
from tbq.write.reported import ReportedValues
from tbq.write.reported import hparams as flat
from tbq.write.writer import SummaryWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

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

    Each trial of `hyperparameter_search` is a run below `log_dir` with its parameters, its value as `objective`, and
    the text `trial/state`. Its name is that of its checkpoints: `run-<number>`, or what `hp_name` returns.
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
        self._home: Any = None  # the given writer, and the directory: what the trials of a search replace
        self._trainer: Any = None  # the Trainer, during a trial

    def _opened(self, args: Any) -> SummaryWriter:
        if self.writer is None:
            directory = self._log_dir or Path(args.output_dir, default_logdir())
            self.writer = SummaryWriter(Path(directory).expanduser(), **self._options)
            self.writer._reports_unclosed = False  # if training fails, nothing closes it
        return self.writer

    def on_train_begin(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        """Log the arguments and the model's configuration."""
        del control
        self._training = True
        if not state.is_world_process_zero:
            return
        if state.is_hyper_param_search:
            self._begin_trial(args, state)
        elif self._home is not None:  # the search is over
            self.writer, self._log_dir = self._home
            self._keeps_open, self._home = self.writer is not None, None
        model = keywords.get("model")
        writer = self._opened(args)
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
        writer = self._opened(args)
        numbers, texts, _ = self._values.sort(rewrite_logs(logs or {}), groups=False)
        for name, text in texts.items():
            writer.add_text(name, text, state.global_step)
        writer.log(numbers, state.global_step)
        if (
            not self._training and self._trainer is None
        ):  # `evaluate` without training: nothing else would close it
            self._close()

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, Any] | None = None, **keywords: Any
    ) -> None:
        """End a trial that is evaluated after training only. With several datasets, its objective is not known here."""
        del args, control, keywords
        if self._trainer is not None and not self._training:
            single = not isinstance(self._trainer.eval_dataset, dict)
            objective = self._trainer.compute_objective(dict(metrics or {})) if single else None
            self._end_trial("complete", objective, state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        """Close the writer; a later `evaluate` or `train` opens the run again."""
        del args, control, keywords
        self._training = False
        if self._trainer is None:
            self._close()
        elif any(frame.f_code.co_name == "_report_to_hp_search" for frame in _callers()):
            self._end_trial("pruned")
        elif self._trainer.objective is not None:
            self._end_trial("complete", self._trainer.objective, state.global_step)

    def _begin_trial(self, args: Any, state: Any) -> None:
        """Open the run of a trial, and log its parameters."""
        from transformers import Trainer

        if self._trainer is not None:
            self._end_trial("fail")  # it left by an exception
        if self._home is None:
            self._home = self.writer, self._log_dir or Path(args.output_dir, default_logdir())
        given, directory = self._home
        callers = (frame.f_locals.get("self") for frame in _callers())
        self._trainer = next(caller for caller in callers if isinstance(caller, Trainer))
        name = os.path.relpath(self._trainer._get_output_dir(self._trainer._trial), args.output_dir)
        resume = "auto" if state.global_step else "new"
        self.writer = SummaryWriter(
            Path(directory).expanduser() if given is None else given.log_dir,
            **{**self._options, "run": name, "resume": resume},
        )
        self.writer._reports_unclosed = self._keeps_open = False
        hparams.declare(self.writer, flat(state.trial_params or {}), hparams.objectives(self._trainer._trial))

    def _end_trial(self, how: str, objective: Any = None, step: int = 0) -> None:
        """Close the run of a trial, with its objective and how it ended."""
        trial, self._trainer = self._trainer._trial, None
        if self.writer is None:
            return
        values = objective if isinstance(objective, list | tuple) else [objective]
        numbers, _, _ = self._values.sort(
            dict(zip(hparams.objectives(trial), values, strict=False)) if objective is not None else {}
        )
        self.writer.log(numbers, step)
        self.writer.add_text("trial/state", how)
        if how == "fail":
            self.writer._file.failed_by = "the trial ended by an exception"
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


def _callers() -> Iterator[FrameType]:
    """The functions that have called this one: transformers does not pass its Trainer to callbacks."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
