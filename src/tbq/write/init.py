"""`tbq.init`: a run for scripts and notebooks, with its configuration, nested values, and steps that it counts."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

from tbq.write import existing, options
from tbq.write.hparams import declare
from tbq.write.reported import ReportedValues, hparams, nested, picture
from tbq.write.writer import SummaryWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


class RunWriter(SummaryWriter):
    """The run that `tbq.init` opens: a `SummaryWriter` whose `log` takes what scripts have at hand."""

    _reports_unclosed = False  # a cell of a notebook that runs again forgets the run of before
    #: The configuration that `tbq.init` got.
    config: Any = None
    #: The largest step that `log` has used; -1 before the first, or the last step of the run that is continued.
    last_step: int = -1

    def _open(self, directory: str, start: float | None = None, origin: str | None = None) -> None:
        super()._open(directory, start, origin)
        self._values = ReportedValues()
        files = existing.event_files(directory) if self._write_to_disk else []
        before = existing.last_step(files) if self.purge_step is None else self.purge_step - 1
        self.last_step = -1 if before is None else before
        self._steps = itertools.count(self.last_step + 1)

    def log(
        self, metrics: Mapping[str, Any], step: Any = None, walltime: Any = None, *, exact: bool | None = None
    ) -> None:
        """Log values at one step: numbers, texts, and by their type PIL images, matplotlib figures and histograms.

        Without `step`, each call is one step: the first is 0, the next is one more than the largest so far. Nested
        dictionaries get tags such as `train/loss`; arrays of more than one number are histograms. Anything else is left
        out with a warning.

        >>> with tbq.init("runs", run="exp1") as run:
        ...     run.log({"train": {"loss": 0.5}, "lr": 0.1})
        ...     run.log({"train": {"loss": 0.25}, "lr": 0.1})
        ...     run.log({"val/loss": 0.3, "note": "halfway"}, step=100)
        >>> run.last_step
        100
        """
        values = nested(metrics)
        kinds = {tag: kind for tag, value in values.items() if (kind := picture(value))}
        others = {tag: value for tag, value in values.items() if tag not in kinds}
        numbers, texts, _ = self._values.sort(others, groups=False)
        step, walltime = self._stamp(step, walltime)
        if step is None:
            step = next(self._steps)
        elif step > self.last_step:
            self._steps = itertools.count(step + 1)
        self.last_step = max(self.last_step, step)
        if numbers:
            super().log(numbers, step, walltime, exact=exact)
        for tag, text in texts.items():
            self.add_text(tag, text, step, walltime)
        for tag, kind in kinds.items():
            getattr(self, f"add_{kind}")(tag, values[tag], step, walltime=walltime)

    def finish(self, failed: str = "") -> None:
        """Close the run; if `failed` says why it failed, its state is `crashed`.

        A `with` block does it too, also when it ends by an exception.

        >>> run = tbq.init("runs", run="exp2")
        >>> run.finish(failed="the loss exploded")
        """
        if failed:
            self._file.failed_by = failed
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process has the configuration, too."""
        return *super().__reduce__(), {"config": self.config}


def init(
    log_dir: str | os.PathLike[str] = "runs",
    *,
    run: str | None = None,
    config: Any = None,
    resume: Literal["auto", "new", "error"] = "new",
    **settings: Any,
) -> RunWriter:
    """Open a run below `log_dir` for a script or a notebook, and log `config` as its hyperparameters.

    `run` names it; by default the date, the host and the process do. A name that is taken gets a number (`exp1-1`);
    with `resume="auto"` the run continues after its last step. `config` is a dictionary, also a nested one, a
    dataclass, or what argparse returns. Other arguments are those of `SummaryWriter`.

    The run is a `SummaryWriter`: it has `add_image`, `watch` and the rest. Call `finish()` or use a `with` block.

    >>> with tbq.init("runs", run="exp1", config={"lr": 0.1, "model": {"layers": 3}}) as run:
    ...     for epoch in range(3):
    ...         run.log({"loss": 1 / (epoch + 1)})
    >>> tbq.open("runs").series("loss", run="exp1").steps.tolist()
    [0, 1, 2]
    """
    options.check(settings)
    values = {} if config is None else hparams(config)
    writer = RunWriter(log_dir, run=run or options.run_name(), resume=resume, **settings)
    writer.config = config
    if values:
        declare(writer, values, ())
        writer._hparam_calls += 1  # `add_hparams` is about another trial
    return writer
