"""The writer's methods for models: `watch`, `unwatch` and `add_model_statistics`."""

from __future__ import annotations

import sys
import time
import weakref
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tbq.arguments import described
from tbq.errors import DependencyError
from tbq.write import device, wire
from tbq.write.arguments import as_step, bad
from tbq.write.core import Core
from tbq.write.pending import EncodedEvent, ScalarsEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tbq.write.model_tensors import Counted, Target
    from tbq.write.tally import Tally

Ranks = Literal["zero", "all"]


class Models(Core):
    """`watch` and similar methods."""

    _watches: list[Watch]
    _closed: bool

    def watch(
        self,
        model: Any,
        every: int = 100,
        gradients: bool = True,
        parameters: bool = True,
        statistics: Iterable[str] = ("norm",),
        *,
        histograms: bool = True,
        ranks: Ranks = "zero",
        start: int = 0,
    ) -> Watch:
        """Log histograms and statistics of all parameters and gradients of a torch model, every so many steps.

        A step is a step of an optimizer: it logs the parameters that it updates, after the update, and their
        gradients. Steps are counted from `start`, for each optimizer; the first one is logged. Everything is counted
        on the device of the model, without a wait. The tags are `parameters/<name>` and `gradients/<name>`, with
        `/norm` and other `statistics` (see `add_model_statistics`) as scalars, and `gradients/norm` for all.

        With torch.distributed only rank 0 logs; `ranks="all"` logs all of them, with `/rank_<n>` in the tags. Of
        sharded parameters (FSDP) each rank logs its own part.

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
            if model is None or watch.model() in (model, None):
                watch.end()
                self._watches.remove(watch)

    def add_model_statistics(
        self,
        model: Any,
        global_step: Any = None,
        walltime: Any = None,
        *,
        statistics: Iterable[str] = ("norm", "mean", "std", "min", "max", "zeros", "nonfinite"),
        gradients: bool = True,
    ) -> None:
        """Add statistics of all parameters of a torch model, and of their gradients if there are any, as scalars.

        The tags are `parameters/<name>/<statistic>` and `gradients/<name>/<statistic>`. `norm` is the Euclidean norm;
        `zeros` and `nonfinite` count values. The numbers are counted on the device, without a wait.

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
        others: list[Counted] | None,
    ) -> list[Counted]:
        """One event of all statistics, and one per histogram. The norms of all are also of `others`; None: no norms."""
        from tbq.write import model_tensors
        from tbq.write.tally import encode_tally

        wall_time = time.time() if wall_time is None else wall_time
        counted = model_tensors.counted(iter(wanted))
        numbers: dict[str, Any] = {}
        for one in counted:
            for name in statistics:
                numbers[f"{one.target.tag}/{name}"] = model_tensors.Statistic(one, name)
        if "norm" in statistics and others is not None:
            numbers = {**model_tensors.total_norms([*others, *counted]), **numbers}
        self._add_values(numbers, step, wall_time)
        buffer, pending = self._file.buffer, self._file.pending
        for one in counted if histograms else ():

            def encode(known: Tally, count: int = one.numbers, tag: str = one.target.tag) -> bytes:
                return encode_tally(known, count, None, tag)

            arguments = (one.target.tag, wire.HISTO, b"", step, wall_time)
            self._attend(pending.add(EncodedEvent(buffer.value, one.value, encode, arguments)))
        return counted

    def _add_values(self, numbers: dict[str, Any], step: int | None, wall_time: float) -> None:
        """One event of numbers that arrive later."""
        if numbers:
            arguments = (numbers, step, wall_time, 0)
            self._attend(self._file.pending.add(ScalarsEvent(self._file.buffer.scalars, arguments)))


class Parts(NamedTuple):
    """What some optimizers of a model have logged of a step, before the norms of all are known."""

    step: int | None
    wall_time: float
    counted: list[Counted]
    owned: set[int]  # the parameters, by id


class Watch:
    """A model that a writer watches; neither is kept alive by it."""

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
        self._settings = {"gradients": gradients, "parameters": parameters, "ranked": ranked}
        self._statistics = statistics
        self._histograms = histograms
        self._start = start
        self._steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._handle: Any = None
        self._parts: Parts | None = None
        self._totalled: int | None = None  # the last step whose norms of all were logged

    def begin(self) -> None:
        """Log after steps of optimizers from now on."""
        optimizers = sys.modules.get("torch.optim.optimizer")
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if register is None:
            version = sys.modules["torch"].__version__
            raise DependencyError(
                f"watch needs torch 2.1 or newer, and torch {version} is installed",
                hint="call add_model_statistics after each step instead",
            )
        watch = weakref.ref(self)

        def after_step(optimizer: Any, arguments: Any, keywords: Any) -> None:
            del arguments, keywords
            if (watching := watch()) is not None:
                watching._after_step(optimizer)

        after_step._torchdynamo_disable = True  # type: ignore[attr-defined]
        self._handle = register(after_step)

    def end(self) -> None:
        """Log nothing more."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
            self._add_totals()

    def _after_step(self, optimizer: Any) -> None:
        device.step_aside()
        model, writer = self.model(), self._writer()
        if model is None or writer is None or writer._closed:
            self.end()
            return
        owned = _owned(optimizer)
        count = self._steps.get(optimizer)
        if count is None and not any(id(parameter) in owned for parameter in model.parameters()):
            return  # another model's
        count = count or 0
        self._steps[optimizer] = count + 1
        cuda = getattr(sys.modules["torch"], "cuda", None)
        if count % self._every or (cuda is not None and _is_capturing(cuda)):
            return
        # Other optimizers may follow. At first they are not known: until all parameters are logged, some may.
        expected = {id(parameter) for parameter in model.parameters() if parameter.requires_grad}
        if count:
            expected &= set().union(*map(_owned, self._steps))
        self._log(self._start + count, owned, expected)

    def log(self, step: int | None = None) -> None:
        """Log the model now: for training loops that update the parameters without an optimizer of torch."""
        self._log(step, None, set())

    def _log(self, step: int | None, only: set[int] | None, expected: set[int]) -> None:
        """Log the parameters `only`; the norms of all are logged when the `expected` ones have been."""
        from tbq.write import model_tensors

        model, writer = self.model(), self._writer()
        if model is None or writer is None:
            return
        wanted = model_tensors.targets(model, **self._settings, only=only)
        step, wall_time = writer._stamp(step, None)
        wall_time = time.time() if wall_time is None else wall_time
        parts = self._parts
        late = only is not None and self._is_late(step)
        if parts is not None and not late:
            if parts.step != step or (only is not None and not parts.owned.isdisjoint(only)):
                self._add_totals()
                parts = None
            elif only is None:
                parts = None  # all of it is logged again
        before = Parts(step, wall_time, [], set()) if parts is None else parts
        owned = before.owned | (only or set())
        complete = not late and expected <= owned
        counted = writer._add_targets(
            wanted, self._statistics, self._histograms, step, wall_time, before.counted if complete else None
        )
        if complete:
            self._parts, self._totalled = None, step
        elif not late:
            self._parts = Parts(step, before.wall_time, [*before.counted, *counted], owned)

    def _is_late(self, step: int | None) -> bool:
        """Whether the norms of all were logged at this step or, by a faster optimizer, at a later one."""
        if step is None:
            return False
        if self._parts is not None:
            return self._parts.step is not None and step < self._parts.step
        return self._totalled is not None and step <= self._totalled

    def _add_totals(self) -> None:
        """Log the norms of what was logged of a step: nothing else of it has come."""
        from tbq.write import model_tensors

        parts, self._parts = self._parts, None
        writer = self._writer()
        if parts is None or writer is None:
            return
        self._totalled = parts.step
        if "norm" in self._statistics:
            writer._add_values(model_tensors.total_norms(parts.counted), parts.step, parts.wall_time)


def _owned(optimizer: Any) -> set[int]:
    """The parameters of an optimizer, by id."""
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}


def _is_capturing(cuda: Any) -> bool:
    """Whether the step is being captured in a CUDA graph, of which nothing runs yet."""
    return bool(cuda.is_available() and cuda.is_current_stream_capturing())


def _check_model(model: Any) -> None:
    if "torch" not in sys.modules or not callable(getattr(model, "named_parameters", None)):
        raise bad("model", f"got {described(model)}, want a torch.nn.Module")


def _checked(statistics: Iterable[str]) -> tuple[str, ...]:
    from tbq.write.model_tensors import STATISTICS

    names = (statistics,) if isinstance(statistics, str) else tuple(statistics)
    for name in names:
        if name not in STATISTICS:
            raise bad("statistics", f"got {described(name)}, want some of {', '.join(STATISTICS)}")
    return names
