"""Counts the parameters and gradients of a torch model on their devices: one transfer per device and call."""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.write import device, device_histogram
from tbq.write.cuda import fused_histogram
from tbq.write.pending import Derived, Failed, Value
from tbq.write.tally import Tally, tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: The statistics of a tensor: `norm` is the Euclidean norm, `zeros` and `nonfinite` are counts.
STATISTICS = ("norm", "mean", "std", "min", "max", "zeros", "nonfinite")

# Parts that wrappers insert into the names of parameters: torch.compile, FSDP, activation checkpointing.
_WRAPPERS = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


class Target(NamedTuple):
    """A tensor to log, under the tag `<kind>/<name>`."""

    kind: str  # parameters or gradients
    name: str
    tensor: Any
    rank: int | None  # of the process; None if the process has the whole tensor

    @property
    def tag(self) -> str:
        """The tag of its histogram."""
        return f"{self.kind}/{self.name}" + ("" if self.rank is None else f"/rank_{self.rank}")


class Counted(NamedTuple):
    """A target whose counts and moments arrive later."""

    target: Target
    value: Value  # a `Tally`
    numbers: int


def rank_and_size() -> tuple[int, int]:
    """The rank of this process and the number of processes; (0, 1) without torch.distributed."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0, 1
    return int(distributed.get_rank()), int(distributed.get_world_size())


def targets(
    model: Any, *, parameters: bool, gradients: bool, ranked: bool, only: set[int] | None = None
) -> Iterator[Target]:
    """The current tensors of a model. `only` selects parameters by id, `ranked` adds the rank to all names."""
    rank = rank_and_size()[0]
    wrapped = type(model).__name__ in ("DistributedDataParallel", "DataParallel")
    for name, parameter in (model.module if wrapped else model).named_parameters():
        if only is not None and id(parameter) not in only:
            continue
        for wrapper in _WRAPPERS:
            name = name.replace(wrapper, "")
        gradient = parameter.grad if gradients else None
        for kind, tensor in (("parameters", parameter if parameters else None), ("gradients", gradient)):
            if tensor is None or _is_lazy(tensor):
                continue
            local, is_part = _local(tensor)
            if local.numel():
                yield Target(kind, name, local, rank if is_part or ranked else None)


def _is_lazy(tensor: Any) -> bool:
    return any(base.__name__ == "UninitializedTensorMixin" for base in type(tensor).__mro__)


def _local(tensor: Any) -> tuple[Any, bool]:
    """This process's part of a tensor, and whether it is only a part. For sparse tensors, the stored values."""
    tensor = tensor.detach()
    is_part = type(tensor).__name__ == "FlatParameter"  # FSDP
    if hasattr(tensor, "to_local"):  # a DTensor, e.g. of FSDP2
        is_part = any(placement.is_shard() for placement in tensor.placements)
        tensor = tensor.to_local()
    if tensor.layout is sys.modules["torch"].sparse_coo:
        tensor = tensor.coalesce().values()
    elif str(tensor.layout).startswith("torch.sparse_"):
        tensor = tensor.values()
    return tensor, is_part


def expect(model: Any) -> None:
    """Prepare the devices of a model for `counted`, in the background."""
    with suppress(RuntimeError, AssertionError):  # a device that fails here is reported when it counts
        for place in {parameter.device for parameter in model.parameters()}:
            fused_histogram.expect(place)


def counted(wanted: Iterator[Target]) -> list[Counted]:
    """Count all targets on their devices, now, in the order of their streams."""
    result: list[Counted | None] = []
    known: list[tuple[int, Target, Any]] = []  # index in the result, target, and a tensor that can be counted
    for place, target in enumerate(wanted):
        result.append(None)
        try:
            known.append((place, target, device_histogram.prepared(target.tensor, target.tag)))
        except Exception as why:  # a type that torch cannot convert: the others still count
            result[place] = Counted(target, Failed(why), 1)
    arrivals: dict[Any, _Arrivals] = {}
    rest = dict.fromkeys(range(len(known)))
    tensors = [tensor for _, _, tensor in known]
    with suppress(RuntimeError):  # a kernel that failed is reported with each tag
        for on in {tensor.device for tensor in tensors}:
            device.refuse_capture(on, "model")

    def take(places: list[int], count: Callable[[], Any]) -> None:
        numbers = [tensors[each].numel() for each in places]
        where = arrivals.setdefault(tensors[places[0]].device, _Arrivals())
        try:
            values = where.add(count(), len(places))
        except Exception as why:  # a kernel that failed, no memory left
            values = [Failed(why)] * len(places)
        for each, value, number in zip(places, values, numbers, strict=True):
            place, target, _ = known[each]
            result[place] = Counted(target, value, number)
            del rest[each]

    for places in device_histogram.together(tensors):
        flat = [tensors[each].reshape(-1) for each in places]
        take(places, lambda flat=flat: device_histogram.rows(sys.modules["torch"].stack(flat)))  # type: ignore[misc]
    for each in list(rest):
        take([each], lambda each=each: device_histogram.row(tensors[each]))  # type: ignore[misc]
    for where in arrivals.values():
        where.send()
    return [counted for counted in result if counted is not None]


class _Arrivals:
    """The vectors that one device sends together."""

    def __init__(self) -> None:
        self._vectors: list[Any] = []
        self._joined = Derived(lambda numbers: numbers)  # `send` sets its source
        self._length = 0

    def add(self, vectors: Any, count: int) -> list[Value]:
        """A tally for each of `count` vectors that follow each other in a tensor."""
        flat = vectors.reshape(-1)
        start, width = self._length, len(flat) // count
        self._vectors.append(flat)
        self._length += len(flat)
        return [Derived(_taker(start + i * width, width), self._joined) for i in range(count)]

    def send(self) -> None:
        """Start the transfer."""
        if self._vectors:
            try:
                joined = sys.modules["torch"].cat(self._vectors)
                self._joined.sources = (device.transferred(joined, "float64", "model"),)
            except RuntimeError as error:  # a kernel that failed
                self._joined.sources = (Failed(error),)
            self._vectors.clear()


def _taker(start: int, width: int) -> Callable[[Any], Tally]:
    return lambda numbers: tally(numbers[start : start + width])


def statistic(name: str, numbers: int, known: Tally) -> float:
    """A statistic of a tensor with this many numbers."""
    if name == "norm":
        return math.sqrt(known.squares)
    mean = known.total / numbers
    if name == "mean":
        return mean
    if name == "std":
        spread = known.squares / numbers - mean * mean
        return math.sqrt(spread) if spread > 0 else spread * 0  # rounding may make it negative; NaN stays
    return float(
        {"min": known.low, "max": known.high, "zeros": known.zeros, "nonfinite": known.nonfinite}[name]
    )
