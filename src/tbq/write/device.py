"""Values of torch tensors on a device, captured on its stream without waiting for it.

A captured value is copied, in the order of the stream, to memory that the host can see: page-locked memory that the
device writes to. Its words have a mark in them until the device has written, so that the host only has to look: no
thread but the caller's talks to the device, which a capture of a CUDA graph on another thread would not survive.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import TYPE_CHECKING, Any

from tbq.write import jax_values
from tbq.write.arguments import as_number, bad
from tbq.write.pending import Failed, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The devices whose values are captured, and one that has none; values on others are read at once.
DEVICES = {"cuda", "mps", "xpu", "meta"}
# Devices that write to page-locked memory by themselves; of others a copy is kept, and read by the flusher.
_MAPPED = {"cuda"}
_MARK = 0x7FF4_7462_7100_1715  # as a float, a signalling NaN, which no conversion of a number yields
_SLOTS = 256
_WORDS = 1 << 15  # page-locked memory is slow to get: slots are made many at a time, up to so many words
_KEPT = 4  # large slots that are recycled, of each size

# The type that holds a number of each type exactly.
_EXACTLY = dict.fromkeys(("float64", "float32", "float16", "bfloat16"), "float64") | dict.fromkeys(
    ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"), "int64"
)


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

    It is asked to at each call that may see a tensor, since torch loads its compiler when it is first used.
    """
    global _aside
    if not _aside and "torch._dynamo.trace_rules" in sys.modules:
        _aside = True
        sys.modules["torch._dynamo.trace_rules"].add("tbq")


class Slot(Value):
    """Words in memory that the device writes to: one number."""

    __slots__ = ("_device", "_failure", "_home", "_numbers", "_stream", "_words", "view")

    def __init__(self, view: Any, words: Any, numbers: Any, home: deque[Slot]) -> None:
        self.view = view  # a tensor, the target of the device
        self._numbers = numbers  # the same memory as float64 or int64
        self._words = words  # the same memory as int64
        self._home = home
        self._device: Any = None
        self._stream: int | None = None
        self._failure: BaseException | bool | None = False  # False: wait for it; None: it is there

    def fill(self, tensor: Any) -> None:
        """Copy `tensor` on its stream."""
        self._device = tensor.device
        self._stream = _current_stream(tensor.device)
        self._failure = False
        self.view.copy_(tensor, non_blocking=True)

    def ready(self) -> bool:
        """Whether the device has written, or has failed."""
        return self._words[0] != _MARK or self._failure is not False

    def result(self) -> Any:
        """The number; the slot is recycled."""
        if isinstance(self._failure, BaseException):
            raise self._failure  # never recycled: the device may still write
        number = self._numbers[0]
        self._words[0] = _MARK
        self._home.append(self)
        return number

    def probe(self) -> None:
        """Ask whether the stream has finished, or failed."""
        try:
            if self._stream is None or _stream(self._stream, self._device).query():
                self._failure = None
        except Exception as failure:
            self._failure = failure


class ArraySlot(Slot):
    """The same for many numbers, as NumPy arrays."""

    __slots__ = ()

    def ready(self) -> bool:
        """Whether the device has written all words, in whatever order."""
        if self._failure is not False:
            return True
        words = self._words
        if words[0] == _MARK or words[-1] == _MARK or bool((words == _MARK).any()):
            return False
        self._failure = None  # once is enough: many values may ask
        return True

    def result(self) -> Any:
        """A copy of the numbers; the slot is recycled."""
        if isinstance(self._failure, BaseException):
            raise self._failure
        numbers = self._numbers.copy()
        if len(self._home) < max(_KEPT, _WORDS // len(numbers)):
            self._words[:] = _MARK
            self._home.append(self)
        return numbers


class Group:
    """Values that arrive together; each `Part` takes its own."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self._numbers: Any = None

    def numbers(self) -> Any:
        """All numbers."""
        if self._numbers is None:
            self._numbers = self.value.result()
        return self._numbers


class Part(Value):
    """What one event takes of a `Group`."""

    def __init__(self, group: Group, take: Callable[[Any], Any]) -> None:
        self._group = group
        self._take = take
        self._taken: Any = None

    def ready(self) -> bool:
        """Whether the group has arrived."""
        return self._group._numbers is not None or self._group.value.ready()

    def result(self) -> Any:
        """The part; several events may ask for it."""
        if self._taken is None:
            self._taken = self._take(self._group.numbers())
        return self._taken

    def probe(self) -> None:
        """Ask for the group."""
        self._group.value.probe()


class Held(Value):
    """A copy on a device that cannot write to the host's memory; `result` waits, but on the flusher's thread."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor.clone()

    def result(self) -> Any:
        """The number, or the numbers as an array."""
        host = self._tensor.cpu()
        return host.item() if host.ndim == 0 else host.numpy()


# (device, dtype, how many numbers) -> free slots. deque's methods are atomic: no lock, which a signal handler or the
# child of a fork could find taken.
_free: dict[tuple[str, str, int], deque[Slot]] = {}


def _forget() -> None:
    _free.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _slot(device: Any, dtype: str, count: int) -> Slot:
    home = _free.setdefault((str(device), dtype, count), deque())
    while True:
        try:
            return home.popleft()
        except IndexError:
            home.extend(_new_slots(device, dtype, count, home))


def _new_slots(device: Any, dtype: str, count: int, home: deque[Slot]) -> list[Slot]:
    import numpy as np

    torch = sys.modules["torch"]
    number = max(1, min(_SLOTS, _WORDS // count))
    with torch.inference_mode(False):  # a tensor of inference mode could not be changed outside of it
        host = torch.zeros(
            number * count, dtype=getattr(torch, dtype), device="cpu", pin_memory=device.type in _MAPPED
        )
        target = as_seen_by(device, host)
    numbers = host.numpy()
    words = numbers.view(np.int64)
    words[:] = _MARK
    if count > 1:
        parts = [slice(i * count, (i + 1) * count) for i in range(number)]
        return [ArraySlot(target[part], words[part], numbers[part], home) for part in parts]
    quick, values = memoryview(words), memoryview(numbers)
    return [Slot(view, quick[i : i + 1], values[i : i + 1], home) for i, view in enumerate(target.unbind(0))]


class _Address:
    """An address for `torch.as_tensor`."""

    def __init__(self, host: Any) -> None:
        self._host = host  # kept alive
        self.__cuda_array_interface__ = {
            "shape": tuple(host.shape),
            "typestr": host.numpy().dtype.str,
            "data": (host.data_ptr(), False),
            "version": 2,
        }


def as_seen_by(device: Any, host: Any) -> Any:
    """Page-locked memory as a tensor of the device, whose kernels write to it; `host` itself if that is impossible."""
    if device.type not in _MAPPED:
        return host
    torch = sys.modules["torch"]
    try:
        mapped = torch.as_tensor(_Address(host), device=device)
    except Exception:  # whatever a version of torch does not support: then the device's copy engine writes
        return host
    return mapped if mapped.data_ptr() == host.data_ptr() and mapped.device == device else host


def _current_stream(device: Any) -> int | None:
    """The address of the stream that work for `device` goes to now; None for devices that have none."""
    if device.type != "cuda":
        return None
    torch = sys.modules["torch"]
    quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # a tenth of the time of current_stream()
    return int(quick(device.index) if quick else torch.cuda.current_stream(device).cuda_stream)


def _stream(address: int, device: Any) -> Any:
    torch = sys.modules["torch"]
    if address == 0:
        return torch.cuda.default_stream(device)
    return torch.cuda.ExternalStream(address, device=device)


def refuse_capture(device: Any, what: str) -> None:
    """Raise if a CUDA graph is being captured: the copy would be a part of it, and run with each replay."""
    torch = sys.modules["torch"]
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        raise bad(
            what,
            "a CUDA graph is being captured, and its values do not exist yet",
            hint="log the tensor after the graph was replayed",
        )


def taken(value: Any, argument: str) -> Value | int | float:
    """A number, or one that arrives later if it is still on a device."""
    if isinstance(value, Value):
        return value
    if is_on_device(value):
        tensor, kind = _number(value, argument)
        return as_number(tensor, argument) if kind is None else transferred(tensor, kind, argument)
    if "jax" in sys.modules and jax_values.is_array(value):
        computed = jax_values.captured(value, argument)
        if computed is not None:
            return computed
    return as_number(value, argument)


def _number(value: Any, argument: str) -> tuple[Any, str | None]:
    """A tensor without dimensions, and the type to transfer it as; None if it must be read at once."""
    tensor = plain(value, argument)
    if tensor.numel() != 1:
        raise bad(argument, f"got a tensor of shape {tuple(tensor.shape)}, want one number")
    return (tensor.reshape(()) if tensor.ndim else tensor), _exactly(tensor.dtype)


def transferred(tensor: Any, dtype: str, argument: str) -> Value:
    """All numbers of a strided tensor, as float64 or int64, which arrive later."""
    try:
        refuse_capture(tensor.device, argument)
        if tensor.device.type not in _MAPPED and tensor.device.type != "cpu":
            return Held(tensor)
        slot = _slot(tensor.device, dtype, tensor.numel())
        slot.fill(tensor)
        return slot
    except RuntimeError as error:  # an earlier kernel failed, or CUDA was used before a fork
        return Failed(error)


def all_taken(values: Mapping[str, Any], argument: str) -> dict[str, Any]:
    """`taken` of each value; the tensors of a device are transferred together."""
    result: dict[str, Any] = {}
    together: dict[tuple[Any, str], dict[str, Any]] = {}
    for tag, value in values.items():
        what = f"{argument}[{tag!r}]"
        if not is_on_device(value):
            result[tag] = taken(value, what)
            continue
        tensor, kind = _number(value, what)
        result[tag] = as_number(tensor, what) if kind is None else None  # its place in the order
        if kind is not None:
            together.setdefault((tensor.device, kind), {})[tag] = tensor
    for (device, kind), tensors in together.items():
        if len(tensors) == 1:
            result.update({tag: transferred(x, kind, f"{argument}[{tag!r}]") for tag, x in tensors.items()})
            continue
        try:
            refuse_capture(device, argument)
            group = Group(transferred(sys.modules["torch"].stack(list(tensors.values())), kind, argument))
        except RuntimeError as error:
            group = Group(Failed(error))
        for index, tag in enumerate(tensors):
            result[tag] = Part(group, _item(index))
    return result


def _item(index: int) -> Callable[[Any], Any]:
    return lambda numbers: numbers[index].item()


def plain(value: Any, argument: str) -> Any:
    """A tensor without its graph, strided, of one process, whose memory is there."""
    torch = sys.modules["torch"]
    tensor = value.detach()
    if type(tensor) is not torch.Tensor and hasattr(tensor, "full_tensor"):  # a DTensor
        tensor = tensor.full_tensor()
    if tensor.device.type == "meta":
        raise bad(argument, "got a tensor on the meta device, which has no values")
    if _exactly(tensor.dtype) is None and tensor.is_quantized:
        tensor = tensor.dequantize()
    elif tensor.layout is not torch.strided:  # any kind of sparse
        tensor = tensor.to_dense()
    if tensor.untyped_storage().nbytes() == 0 and tensor.numel():
        raise bad(argument, "got a tensor whose memory was freed")
    return tensor
