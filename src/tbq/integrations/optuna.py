"""One run per trial of Optuna, with its parameters, its objective and how it ended."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tbq.arguments import described
from tbq.errors import missing
from tbq.write import hparams, options
from tbq.write.arguments import bad
from tbq.write.init import RunWriter
from tbq.write.reported import hparams as flat

try:
    import optuna
except ImportError:
    raise missing("optuna", needed_for="tbq.integrations.optuna") from None

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


def run_per_trial(
    log_dir: str | os.PathLike[str] = "runs", **settings: Any
) -> Callable[[Callable[[Any, RunWriter], Any]], Callable[[Any], Any]]:
    """A decorator for an objective with a second argument: the run of the trial, as `tbq.init` opens it.

    The run is called `trial-<number>`; a name that is taken gets a number. It gets the parameters of the trial, its
    value as `objective` (several: `objective_0`, …, or the study's metric names), and the text `trial/state`: complete,
    pruned or fail. A trial that fails is a run that `crashed`. Other arguments are those of `SummaryWriter`.

    >>> @run_per_trial("runs")  # doctest: +SKIP
    ... def objective(trial, run):
    ...     x = trial.suggest_float("x", -1, 1)
    ...     run.log({"loss": x * x})
    ...     return x * x
    >>> optuna.create_study().optimize(objective, n_trials=20)  # doctest: +SKIP
    """
    options.check(settings)
    for name in ("run", "resume"):
        if name in settings:
            raise bad(name, "each trial is a run of its own, which run_per_trial names")

    def decorate(objective: Callable[[Any, RunWriter], Any]) -> Callable[[Any], Any]:
        @functools.wraps(objective)
        def logged(trial: Any) -> Any:
            run = _TrialWriter(log_dir, run=f"trial-{trial.number}", resume="new", **settings)
            run.trial = trial
            pruned: Exception | None = None
            try:
                result = objective(trial, run)
            except optuna.TrialPruned as error:
                pruned = error
            except BaseException:
                run.end("fail")
                run.finish()
                raise
            if pruned is not None:  # outside of `except`: a run that is closed there has crashed
                run.end("pruned")
                run.finish()
                raise pruned
            run.complete(result)
            return result

        return logged

    return decorate


class _TrialWriter(RunWriter):
    """The run of a trial. Its parameters are in the log from its first values on, also if the process is killed."""

    trial: Any = None
    ended = False

    def close(self) -> None:
        """Only flush if the trial goes on: its objective follows, also if the function closes its run."""
        if self.trial is None or self.ended:
            super().close()
        else:
            self.flush()

    def log(
        self, metrics: Mapping[str, Any], step: Any = None, walltime: Any = None, *, exact: bool | None = None
    ) -> None:
        if self.config is None:
            self._declare()
        super().log(metrics, step, walltime, exact=exact)

    def _declare(self) -> None:
        """Log the parameters that the trial has now and that are not in the log."""
        values = {} if self.trial is None else self.trial.params
        known = self.config or {}
        added = {
            name: str(value) if value is None else value
            for name, value in values.items()
            if name not in known
        }
        if added:
            self.config = {**known, **added}
            hparams.declare(self, flat(added), hparams.objectives(self.trial))

    def complete(self, result: Any) -> None:
        """Log the objective, and close the run. The trial fails if Optuna does not accept the result."""
        values = list(result) if isinstance(result, Sequence) else [result]
        tags = hparams.objectives(self.trial)
        numbers = dict(zip(tags, map(_number, values), strict=False))
        accepted = len(values) == len(tags) and not any(map(math.isnan, numbers.values()))
        if accepted:
            self.log(numbers)
        self.end("complete" if accepted else "fail")
        self.finish(failed="" if accepted else f"the objective is {described(result)}")

    def end(self, state: str) -> None:
        """Log how the trial ended."""
        self._declare()
        self.add_text("trial/state", state)
        self.ended = True


def _number(value: Any) -> float:
    """The value as Optuna takes it; NaN if it is not a number."""
    try:
        return math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
