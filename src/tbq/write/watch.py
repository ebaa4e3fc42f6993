"""The writer's methods for models: `watch`, `unwatch` and `add_model_statistics`."""

from __future__ import annotations

import sys
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tbq import wire
from tbq.arguments import described
from tbq.errors import DependencyError, warn
from tbq.write import device
from tbq.write.arguments import as_step, bad
from tbq.write.core import Core
from tbq.write.model_norms import Round, Rounds, Squares, living, squares_of, total_norms
from tbq.write.pending import Derived, EncodedEvent, ScalarsEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tbq.write.model_tensors import Target
    from tbq.write.tally import Tally

Ranks = Literal["zero", "all"]


class Models(Core):
    """`watch` and similar methods."""

    _watches: list[Watch | Forgone]
    _closed: bool

    def watch(
        self,
        model: Any,
        *,
        every: int = 100,
        gradients: bool = True,
        parameters: bool = True,
        statistics: Iterable[str] | str = ("norm",),
        histograms: bool = True,
        ranks: Ranks = "zero",
        start: int = 0,
    ) -> Watch:
        """Log histograms and statistics of all parameters and gradients of a torch model every `every` steps.

        A step is a step of an optimizer: after the update, tbq logs the parameters that the optimizer owns, and their
        gradients. Steps are counted from `start`, for each optimizer; the first step is logged. Everything is counted
        on the device of the model, without waiting. The tags are `parameters/<name>` and `gradients/<name>`, with
        `/norm` and other `statistics` (see `add_model_statistics`) as scalars, and `gradients/norm` for all gradients.

        With torch.distributed only rank 0 logs; with `ranks="all"` all ranks log, with `/rank_<n>` in the tags. Each
        rank logs its own part of sharded parameters (FSDP).

        >>> writer.watch(model, every=10)  # doctest: +SKIP
        """
        from tbq.write import model_tensors

        _check_model(model)
        if not isinstance(every, int) or every < 1:
            raise bad("every", f"got {described(every)}, want a number of steps")
        if ranks not in ("zero", "all"):
            raise bad("ranks", f"got {described(ranks)}, want 'zero' or 'all'")
        first = as_step(start, "start") or 0
        watch = Watch(
            self, model, every, gradients, parameters, _checked(statistics), histograms, ranks == "all", first
        )
        self.unwatch(model)
        if ranks == "all" or model_tensors.rank_and_size()[0] == 0:
            watch.begin()
            model_tensors.expect(model)
            self._watches.append(watch)
        return watch

    def unwatch(self, model: Any = None) -> None:
        """Stop watching `model`, or all models.

        >>> writer.unwatch()
        """
        for watch in list(self._watches):
            watched = watch.model()
            if model is None or watched is None or watched is model:
                watch.end()
                self._watches.remove(watch)

    def _forgo(self, ranked: list[bool]) -> None:
        """In a copy of a writer that watched models: warn if a model is trained here."""
        if ranked:
            import torch.optim  # noqa: F401

            self._watches.append(Forgone(self, any(ranked)))
            self._watches[0].begin()

    def add_model_statistics(
        self,
        model: Any,
        global_step: Any = None,
        walltime: Any = None,
        *,
        statistics: Iterable[str] | str = ("norm", "mean", "std", "min", "max", "zeros", "nonfinite"),
        gradients: bool = True,
    ) -> None:
        """Add statistics of all parameters of a torch model, and of their gradients if they exist, as scalars.

        The tags are `parameters/<name>/<statistic>` and `gradients/<name>/<statistic>`. `norm` is the Euclidean norm;
        `zeros` and `nonfinite` count values. The statistics are computed on the device, without waiting.

        >>> writer.add_model_statistics(model, 100)  # doctest: +SKIP
        """
        from tbq.write import model_tensors

        _check_model(model)
        names = _checked(statistics)
        step, wall_time = self._stamp(global_step, walltime)
        wanted = model_tensors.targets(model, parameters=True, gradients=gradients, ranked=False)
        self._add_targets(wanted, names, False, step, wall_time, [])

    def _add_targets(
        self,
        wanted: Iterable[Target],
        statistics: tuple[str, ...],
        histograms: bool,
        step: int | None,
        wall_time: float | None,
        others: list[Squares] | None,
    ) -> list[Squares]:
        """Add one event with all statistics, and one per histogram. Total norms include `others`; None: none."""
        from tbq.write import model_tensors, tally

        wall_time = time.time() if wall_time is None else wall_time
        counted = model_tensors.counted(iter(wanted))
        numbers: dict[str, Any] = {}
        for tensor in counted:
            for name in statistics:
                compute = partial(model_tensors.statistic, name, tensor.numbers)
                numbers[f"{tensor.target.tag}/{name}"] = Derived(compute, tensor.value)
        squares = [squares_of(tensor) for tensor in counted] if "norm" in statistics else []
        if others is not None:
            numbers = {**total_norms([*others, *squares]), **numbers}
        self._add_values(numbers, step, wall_time)
        buffer, pending = self._file.buffer, self._file.pending
        for tensor in counted if histograms else ():

            def encode(known: Tally, count: int = tensor.numbers, tag: str = tensor.target.tag) -> bytes:
                return tally.encode(known, count, None, tag)

            arguments = (tensor.target.tag, wire.HISTO, b"", step, wall_time)
            self._attend(pending.add(EncodedEvent(buffer.value, tensor.value, encode, arguments)))
        return squares

    def _add_values(self, numbers: dict[str, Any], step: int | None, wall_time: float) -> None:
        """Add one event with numbers that arrive later."""
        if numbers:
            arguments = (numbers, step, wall_time, 0)
            self._attend(self._file.pending.add(ScalarsEvent(self._file.buffer.scalars, arguments)))


class Progress:
    """The number of steps that some parameters have made."""

    def __init__(self, owned: set[int], count: int) -> None:
        self.owned = owned
        self.count = count


class Watch:
    """A model that a writer watches. It keeps neither alive."""

    def __init__(
        self,
        writer: Models,
        model: Any,
        every: int,
        gradients: bool,
        parameters: bool,
        statistics: tuple[str, ...],
        histograms: bool,
        ranked: bool,
        start: int,
    ) -> None:
        self.model = weakref.ref(model)
        self._writer = weakref.ref(writer)
        self._every = every
        self.ranked = ranked
        self._settings = {"gradients": gradients, "parameters": parameters, "ranked": ranked}
        self._statistics = statistics
        self._histograms = histograms
        self._start = start
        self._steps: weakref.WeakKeyDictionary[Any, Progress] = weakref.WeakKeyDictionary()
        self._progress: list[Progress] = []  # includes that of optimizers that no longer exist
        self._rounds = Rounds()
        self.clock: Callable[[], int | None] | None = None  # the trainer's own step, if there is one

    def begin(self) -> None:
        """Log after steps of optimizers from now on."""
        _hook()
        _watching[id(self)] = self

    def end(self) -> None:
        """Log nothing more."""
        if _watching.pop(id(self), None) is not None:
            self._add_totals()

    def _after_step(self, optimizer: Any, enclosing: list[Any]) -> None:
        device.step_aside()
        model, writer = self.model(), self._writer()
        if writer is None or writer._closed:
            _watching.pop(id(self), None)
            return
        if model is None:
            self.end()
            return
        owned = _owned(optimizer)
        if any(owned <= _owned(other) for other in enclosing):
            return  # part of an enclosing optimizer's step, which logs these parameters when it is done
        progress = self._steps.get(optimizer)
        if progress is None:
            if not any(id(parameter) in owned for parameter in model.parameters()):
                return  # another model's
            progress = self._steps[optimizer] = self._begun(owned)
        count = progress.count
        progress.count += 1
        step = None if self.clock is None else self.clock()
        if (count if step is None else step) % self._every:
            return
        cuda = sys.modules["torch"].cuda
        if cuda.is_available() and cuda.is_current_stream_capturing():  # no values yet
            return
        # Other optimizers may follow. In the first step they are unknown, so wait until all parameters are logged.
        expected = {id(parameter) for parameter in model.parameters() if parameter.requires_grad}
        if count:
            expected &= set().union(*map(_owned, living(self._steps)))
        self._log(self._start + count if step is None else step, owned, expected, optimizer)

    def _begun(self, owned: set[int]) -> Progress:
        """The progress of a new optimizer. If it replaces another optimizer, it continues from that one's count."""
        before = [
            progress for progress in self._progress if progress.owned <= owned or owned <= progress.owned
        ]
        begun = Progress(owned, max((progress.count for progress in before), default=0))
        replaced = [progress for progress in before if progress.owned <= owned]
        self._progress = [*(progress for progress in self._progress if progress not in replaced), begun]
        return begun

    def log(self, step: int | None = None) -> None:
        """Log the model now: for training loops that update the parameters without a torch optimizer."""
        self._log(step, None, set())

    def _log(
        self, step: int | None, only: set[int] | None, expected: set[int], optimizer: Any = None
    ) -> None:
        """Log the parameters in `only`. The total norms are logged once all `expected` parameters have been."""
        from tbq.write import model_tensors

        model, writer = self.model(), self._writer()
        if model is None or writer is None:
            return
        wanted = model_tensors.targets(model, **self._settings, only=only)
        step, wall_time = writer._stamp(step, None)
        wall_time = time.time() if wall_time is None else wall_time
        rounds = self._rounds
        if rounds.now is not None and (only is None or not rounds.now.owned.isdisjoint(only)):
            if only is None and rounds.now.step == step:
                rounds.now = None  # all of it is logged again
            self._add_totals()
        before = rounds.now or Round(step, wall_time, [], set())
        latest = max((each for each in (step, before.step) if each is not None), default=None)
        owned = before.owned | (only or set())
        complete = expected <= owned
        others: list[Squares] | None = None
        if only is None:
            others = []
        elif complete and latest == step and rounds.is_new(step):
            others = [*before.squares, *rounds.others(owned)]
        squares = writer._add_targets(wanted, self._statistics, self._histograms, step, wall_time, others)
        if optimizer is not None and only is not None and not expected <= only:
            rounds.keep(optimizer, Round(step, wall_time, squares, only))
        if others is not None:
            rounds.ended(step)
            return
        rounds.now = Round(latest, before.wall_time, [*before.squares, *squares], owned)
        if complete:
            self._add_totals()

    def _add_totals(self) -> None:
        """Log the total norms of the current round, which ends it."""
        over, writer = self._rounds.finish(), self._writer()
        if over is not None and writer is not None:
            writer._add_values(total_norms(over.squares), over.step, over.wall_time)


class Forgone:
    """Replaces the watches that a copied writer does not have; `watch` and `unwatch` remove it."""

    def __init__(self, writer: Models, ranked: bool) -> None:
        self._writer = weakref.ref(writer)
        self.ranked = ranked

    def model(self) -> None:
        """None: the model is in the process of the original writer."""

    def begin(self) -> None:
        """Warn after the first step of an optimizer."""
        _hook()
        _watching[id(self)] = self

    def end(self) -> None:
        """Do not warn."""
        _watching.pop(id(self), None)

    def _after_step(self, optimizer: Any, enclosing: list[Any]) -> None:
        from tbq.write import model_tensors

        del optimizer, enclosing
        self.end()
        writer = self._writer()
        if writer is None or writer._closed or any(isinstance(each, Watch) for each in _watching.values()):
            return  # a copy in the same process: the original writer watches
        if self.ranked or model_tensors.rank_and_size()[0] == 0:
            warn(
                f"{writer.log_dir}: the SummaryWriter watched a model, and its copy in this process does not: weights "
                "and gradients are not logged. Call writer.watch(model) in the process that trains"
            )


# Watches of this process by id. They share one hook, which is never removed: torch iterates over its hooks while it
# calls them, so removing one during that (because a model or writer is gone) would make the step fail.
_watching: weakref.WeakValueDictionary[int, Watch | Forgone] = weakref.WeakValueDictionary()
_hooked: list[Any] = []  # torch's handle of the hook


def _hook() -> None:
    """Make torch call `_after_step` after each step of any optimizer."""
    optimizers = sys.modules.get("torch.optim.optimizer")
    register = getattr(optimizers, "register_optimizer_step_post_hook", None)
    if register is None:
        version = sys.modules["torch"].__version__
        raise DependencyError(
            f"watch needs torch 2.1 or newer, and torch {version} is installed",
            hint="call add_model_statistics after each step instead",
        )
    if not _hooked:
        _hooked.append(register(_after_step))


def _after_step(optimizer: Any, arguments: Any, keywords: Any) -> None:
    del arguments, keywords
    if _watching:
        enclosing = _enclosing(sys._getframe(1))
        for watch in list(_watching.values()):
            watch._after_step(optimizer, enclosing)


_after_step._torchdynamo_disable = True  # type: ignore[attr-defined]


def _enclosing(frame: Any) -> list[Any]:
    """The optimizers whose steps called this one, as wrappers of optimizers do. Found by the stack frames of torch's
    function around each step."""
    code, optimizers = frame.f_code, []
    while (frame := frame.f_back) is not None:
        if frame.f_code is code and hasattr(optimizer := frame.f_locals.get("self"), "param_groups"):
            optimizers.append(optimizer)
    return optimizers


def _owned(optimizer: Any) -> set[int]:
    """The parameters of an optimizer, by id."""
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}


def _check_model(model: Any) -> None:
    if "torch" not in sys.modules or not callable(getattr(model, "named_parameters", None)):
        raise bad("model", f"got {described(model)}, want a torch.nn.Module")


def _checked(statistics: Iterable[str] | str) -> tuple[str, ...]:
    """The names in a list of statistics, or in a text with commas between them; raises if one is unknown."""
    from tbq.write.model_tensors import STATISTICS

    listed = statistics.split(",") if isinstance(statistics, str) else statistics
    names = tuple(name.strip() if isinstance(name, str) else name for name in listed)
    for name in names:
        if name not in STATISTICS:
            raise bad("statistics", f"got {described(name)}, want some of {', '.join(STATISTICS)}")
    return names
