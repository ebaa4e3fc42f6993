"""Captures values of torch tensors on a device, on its stream, without waiting for it.

A captured value is copied, in the order of the stream, to memory that the host can read; see `slots`.
"""

from __future__ import annotations

import sys
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tbq.write import jax_values, slots
from tbq.write.arguments import as_number, bad
from tbq.write.pending import Derived, Failed, Value
from tbq.write.slots import DeviceCopy

if TYPE_CHECKING:
    from collections.abc import Mapping

# The devices whose values are captured, and `meta`, which has no values. Values on other devices are read at once.
DEVICES = {"cuda", "mps", "xpu", "meta"}

# dtype -> the type that represents all its numbers exactly.
_EXACTLY = dict.fromkeys(("float64", "float32", "float16", "bfloat16"), "float64") | dict.fromkeys(
    ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"), "int64"
)
# Types that torch cannot combine with any other.
_UNSIGNED = ("torch.uint16", "torch.uint32")

_known: dict[Any, str | None] = {}


def _exactly(dtype: Any) -> str | None:
    """The type to transfer a number of a torch dtype as; None for complex, quantised and other rare types."""
    if dtype not in _known:
        _known[dtype] = _EXACTLY.get(str(dtype).removeprefix("torch."))
    return _known[dtype]


def is_on_device(value: Any) -> bool:
    """Whether `value` is a torch tensor on a device whose values are captured."""
    torch = sys.modules.get("torch")
    tensors: Any = getattr(torch, "Tensor", ())
    if not isinstance(value, tensors):
        return False
    return value.device.type in DEVICES and hasattr(value, "untyped_storage")  # torch 2 or newer


_aside = False


def step_aside() -> None:
    """Keep torch.compile out of the writer: it would trace the queue of values as if it were part of a model.

    Every call that may see a tensor does this, because torch loads its compiler on first use.
    """
    global _aside
    if not _aside and "torch._dynamo.trace_rules" in sys.modules:
        _aside = True
        sys.modules["torch._dynamo.trace_rules"].add("tbq")


def refuse_capture(device: Any, what: str) -> None:
    """Raise if a CUDA graph is being captured: the copy would become part of it, and run with each replay."""
    torch = sys.modules["torch"]
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        raise bad(
            what,
            "a CUDA graph is being captured, and its values do not exist yet",
            hint="log the tensor after replaying the graph",
        )


def captured(value: Any, argument: str) -> Value | int | float:
    """A number, or a `Value` that arrives later if the number is still on a device."""
    if isinstance(value, Value):
        return value
    if is_on_device(value):
        quick = _quick(value, argument)
        if quick is not None:
            return quick
        tensor, kind = _number(value, argument)
        return as_number(tensor, argument) if kind is None else transferred(tensor, kind, argument)
    if "jax" in sys.modules and jax_values.is_array(value):
        computed = jax_values.captured(value, argument)
        if computed is not None:
            return computed
    return as_number(value, argument)


def _quick(value: Any, argument: str) -> Value | None:
    """The number of a plain tensor without dimensions, in as few calls as possible; None for anything else.

    Each microsecond here delays a program that is limited by launching kernels rather than by the device.
    """
    tensor = _simple(value)
    if tensor is None:
        return None
    is_short = tensor.dtype is sys.modules["torch"].float32
    try:
        refuse_capture(tensor.device, argument)
        slot = slots.slot(tensor.device, "float32" if is_short else str(_exactly(tensor.dtype)), 1)
        slot.fill(tensor)
    except RuntimeError:  # the general path reports what is wrong
        return None
    return slot


def _simple(value: Any) -> Any:
    """A tensor without its graph; None if it has dimensions or is unusual in any way (see `plain`)."""
    tensor = value.detach()
    if tensor.ndim or (tensor.device.type not in slots.MAPPED and tensor.device.type != "cpu"):
        return None
    return tensor if _is_usual(tensor) else None


def _is_usual(tensor: Any) -> bool:
    """Whether a tensor is plain numbers in memory. The checks are few and quick, because each costs the caller time."""
    torch = sys.modules["torch"]
    if (
        type(tensor) is not torch.Tensor
        or tensor.layout is not torch.strided
        or _exactly(tensor.dtype) is None
    ):
        return False
    try:
        return bool(tensor.data_ptr()) and not tensor.is_neg()
    except RuntimeError:  # it has no memory
        return False


def _number(value: Any, argument: str) -> tuple[Any, str | None]:
    """A tensor without dimensions, and the type to transfer it as, or None if it must be read at once."""
    tensor = plain(value, argument)
    if tensor.numel() != 1:
        raise bad(argument, f"got a tensor of shape {tuple(tensor.shape)}, want one number")
    if _is_wrapped(tensor):  # inside torch.func a tensor can be read, but not copied
        return tensor, None
    return (tensor.reshape(()) if tensor.ndim else tensor), _exactly(tensor.dtype)


def transferred(tensor: Any, dtype: str, argument: str) -> Value:
    """A `Value` with all numbers of a strided tensor, as float64 or int64."""
    try:
        refuse_capture(tensor.device, argument)
        if tensor.device.type not in slots.MAPPED and tensor.device.type != "cpu":
            return DeviceCopy(tensor)
        slot = slots.slot(tensor.device, dtype, tensor.numel())
        slot.fill(tensor)
        return slot
    except RuntimeError as error:  # an earlier kernel failed, or CUDA was used before a fork
        return Failed(error)


def captured_together(values: Mapping[str, Any], argument: str) -> dict[str, Any]:
    """`captured` of each value; the tensors of a device are transferred together."""
    result: dict[str, Any] = {}
    together: dict[tuple[Any, str, Any], dict[str, Any]] = {}
    for tag, value in values.items():
        if not is_on_device(value):
            result[tag] = captured(value, f"{argument}[{tag!r}]")
            continue
        tensor = _simple(value)
        kind = None if tensor is None else _exactly(tensor.dtype)
        if kind is None:
            what = f"{argument}[{tag!r}]"
            tensor, kind = _number(value, what)
            if kind is None:
                result[tag] = as_number(tensor, what)
                continue
        result[tag] = None  # keeps the order of tags
        alone = tag if str(tensor.dtype) in _UNSIGNED else None
        together.setdefault((tensor.device, kind, alone), {})[tag] = tensor
    for (device, kind, _), tensors in together.items():
        if len(tensors) == 1:
            result.update({tag: transferred(x, kind, f"{argument}[{tag!r}]") for tag, x in tensors.items()})
            continue
        try:
            refuse_capture(device, argument)
            arrival = transferred(sys.modules["torch"].stack(list(tensors.values())), kind, argument)
        except RuntimeError as error:
            arrival = Failed(error)
        numbers = Derived(lambda numbers: numbers.tolist(), arrival)
        for index, tag in enumerate(tensors):
            result[tag] = Derived(itemgetter(index), numbers)
    return result


def plain(value: Any, argument: str) -> Any:
    """A strided tensor without its graph, complete in this process; raises if its memory was freed."""
    torch = sys.modules["torch"]
    tensor = value.detach()
    if _is_usual(tensor):
        return tensor
    if type(tensor) is not torch.Tensor and hasattr(tensor, "full_tensor"):  # a DTensor
        tensor = tensor.full_tensor()
    if tensor.device.type == "meta":
        raise bad(argument, "got a tensor on the meta device, which has no values")
    if _exactly(tensor.dtype) is None and tensor.is_quantized:
        tensor = tensor.dequantize()
    elif tensor.layout is not torch.strided:  # any kind of sparse
        tensor = tensor.to_dense()
    if _is_wrapped(tensor):
        return tensor
    storage = tensor.untyped_storage()
    if storage.device.type == "meta":
        raise bad(argument, "got a fake tensor, which has no values", hint="log it outside of tracing")
    if storage.nbytes() == 0 and tensor.numel():
        raise bad(argument, "got a tensor whose memory was freed")
    return tensor.resolve_neg()


def _is_wrapped(tensor: Any) -> bool:
    """Whether a tensor is a wrapper without memory, inside a torch.func transformation."""
    try:
        tensor.untyped_storage()
    except NotImplementedError:
        return True
    return False
