"""The parameters and gradients of a torch model, counted on their devices: one transfer per device and call."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.write import device, device_histogram
from tbq.write.device import Group, Part
from tbq.write.pending import Failed, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: What can be told of a tensor: `norm` is the Euclidean norm, `zeros` and `nonfinite` are counts.
STATISTICS = ("norm", "mean", "std", "min", "max", "zeros", "nonfinite")

# What wrappers put into the names of parameters: torch.compile, FSDP, activation checkpointing.
_WRAPPERS = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


class Target(NamedTuple):
    """A tensor to log, under the tag `<kind>/<name>`."""

    kind: str  # parameters or gradients
    name: str
    tensor: Any
    rank: int | None  # of the process, if this is only its part of the tensor

    @property
    def tag(self) -> str:
        """The tag of its histogram."""
        return f"{self.kind}/{self.name}" + ("" if self.rank is None else f"/rank_{self.rank}")


class Counted(NamedTuple):
    """A target whose counts and moments arrive later."""

    target: Target
    value: Value  # a vector, as `device_histogram.counted` makes it
    numbers: int


def rank_and_size() -> tuple[int, int]:
    """The rank of this process among how many, if torch.distributed is in use."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0, 1
    return int(distributed.get_rank()), int(distributed.get_world_size())


def targets(
    model: Any, *, parameters: bool, gradients: bool, ranked: bool, only: set[int] | None = None
) -> Iterator[Target]:
    """The tensors of a model as it is now; `only` selects parameters by id, `ranked` adds the rank to all names."""
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
    """What this process has of a tensor, and whether that is only a part; of sparse tensors, the values they store."""
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


def counted(wanted: Iterator[Target]) -> list[Counted]:
    """Count all targets on their devices, now, in the order of their streams."""
    torch = sys.modules["torch"]
    vectors: dict[Any, list[Any]] = {}
    places: list[tuple[Target, Any, int, int]] = []
    result: list[Counted] = []
    for target in wanted:
        try:
            tensor = device_histogram.prepared(target.tensor, target.tag)
            vector = device_histogram.counted(tensor, statistics=True)
        except Exception as why:  # a type that torch cannot convert, a failed kernel: the others still count
            result.append(Counted(target, Failed(why), 1))
            continue
        rows = vectors.setdefault(vector.device, [])
        places.append((target, vector.device, len(rows), tensor.numel()))
        rows.append(vector)
    groups = {}
    for where, rows in vectors.items():
        groups[where] = Group(device.transferred(torch.cat(rows), "float64", "model"))
    for target, where, row, numbers in places:
        width = len(vectors[where][row])
        part = slice(row * width, (row + 1) * width)
        result.append(Counted(target, Part(groups[where], _taker(part)), numbers))
    return result


def _taker(part: slice) -> Callable[[Any], Any]:
    return lambda numbers: numbers[part]


class Statistic(Value):
    """One statistic of one counted tensor."""

    __slots__ = ("_counted", "_name")

    def __init__(self, counted: Counted, name: str) -> None:
        self._counted = counted
        self._name = name

    def ready(self) -> bool:
        """Whether the tensor was counted."""
        return self._counted.value.ready()

    def result(self) -> float:
        """The number."""
        return statistic(self._name, self._counted.value.result(), self._counted.numbers)

    def probe(self) -> None:
        """Ask for the counts."""
        self._counted.value.probe()


class TotalNorm(Value):
    """The norm of several tensors taken as one."""

    def __init__(self, counted: list[Counted]) -> None:
        self._counted = counted

    def ready(self) -> bool:
        """Whether all were counted."""
        return all(one.value.ready() for one in self._counted)

    def result(self) -> float:
        """The number."""
        squares = (statistic("sum_squares", one.value.result(), one.numbers) for one in self._counted)
        return math.sqrt(sum(squares))

    def probe(self) -> None:
        """Ask for the counts."""
        for one in self._counted:
            one.value.probe()


def statistic(name: str, vector: Any, numbers: int) -> float:
    """A statistic from the moments at the end of a vector of `device_histogram.counted`."""
    moments = dict(
        zip(device_histogram.MOMENTS, vector[-len(device_histogram.MOMENTS) :].tolist(), strict=True)
    )
    if name in moments:
        return float(moments[name])
    if name == "norm":
        return math.sqrt(moments["sum_squares"])
    mean = moments["sum"] / numbers
    if name == "mean":
        return float(mean)
    spread = moments["sum_squares"] / numbers - mean * mean
    return math.sqrt(spread) if spread > 0 else spread * 0  # rounding may make it negative; NaN stays
