"""Page-locked memory where captured values arrive: the device writes to it, the host polls it.

A word holds a mark until the device has written it, so the host only has to compare memory. Only the caller's thread
talks to the device: a call from any other thread would break the capture of a CUDA graph.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import Any

from tbq.write.pending import Value

# Devices that write to page-locked memory themselves. For other devices, the flusher reads a copy on the device.
MAPPED = {"cuda"}
# The content of memory until the device has written: as a float, a signalling NaN, which no operation yields.
_MARK = 0x7FF4_7462_7100_1715
_SHORT_MARK = 0x7FA0_7462  # the same for float32
_SLOTS = 256
# Page-locked memory is slow to allocate, so slots are made in batches of up to this many words.
_WORDS = 1 << 15
_KEPT = 4  # large slots to keep for reuse, per size


class Slot(Value):
    """Words in memory that the device writes to: one number."""

    __slots__ = ("_device", "_failure", "_home", "_mark", "_numbers", "_stream", "_words", "view")

    def __init__(self, view: Any, words: Any, numbers: Any, home: deque[Slot], mark: int = _MARK) -> None:
        self.view = view  # a tensor, the target of the device
        self._numbers = numbers  # the same memory as floats or integers
        self._words = words  # the same memory as integers
        self._home = home
        self._mark = mark
        self._device: Any = None
        self._stream: int | None = None
        self._failure: BaseException | bool | None = False  # False: still waiting; None: arrived

    def fill(self, tensor: Any) -> None:
        """Copy `tensor` on its stream."""
        self.expect(tensor.device)
        self.view.copy_(tensor, non_blocking=True)

    def expect(self, device: Any) -> None:
        """Expect a number from work on the current stream of a device."""
        self._device = device
        self._stream = None if device.type == "cpu" else current_stream(device)
        self._failure = False

    def give_back(self) -> None:
        """Recycle the slot: nothing will be written to it."""
        self._home.append(self)

    def ready(self) -> bool:
        """Whether the device has written, or has failed."""
        return self._words[0] != self._mark or self._failure is not False

    def result(self) -> Any:
        """The number; the slot is recycled."""
        if isinstance(self._failure, BaseException):
            raise self._failure  # never recycled: the device may still write
        number = self._numbers[0]
        self._words[0] = self._mark
        self._home.append(self)
        return number

    def probe(self) -> None:
        """Check whether the stream has finished or failed."""
        try:
            if self._stream is None or _stream(self._stream, self._device).query():
                self._failure = None
        except Exception as failure:
            if "captur" not in str(failure):  # streams cannot be queried while a graph is captured
                self._failure = failure


class ArraySlot(Slot):
    """A slot for many numbers, as NumPy arrays."""

    __slots__ = ()

    def ready(self) -> bool:
        """Whether the device has written all words, in any order."""
        if self._failure is not False:
            return True
        words = self._words
        if words[0] == _MARK or words[-1] == _MARK or bool((words == _MARK).any()):
            return False
        self._failure = None  # skips the check next time: many values may ask
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


class DeviceCopy(Value):
    """A copy on a device that cannot write to the host's memory; `result` waits, but on the flusher's thread."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor.clone()

    def result(self) -> Any:
        """The number, or the numbers as an array."""
        host = self._tensor.cpu()
        return host.item() if host.ndim == 0 else host.numpy()


# (device, dtype, count) -> free slots. The methods of deque are atomic, so no lock is needed: a signal handler or the
# child of a fork could find a lock held.
_free: dict[tuple[Any, str, int], deque[Slot]] = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free.clear)


def slot(device: Any, dtype: str, count: int) -> Slot:
    """Free memory for `count` numbers that the device can write to."""
    home = _free.get((device, dtype, count))
    if home is None:
        home = _free.setdefault((device, dtype, count), deque())
    while True:
        try:
            return home.popleft()
        except IndexError:
            home.extend(_new_slots(device, dtype, count, home))


def _new_slots(device: Any, dtype: str, count: int, home: deque[Slot]) -> list[Slot]:
    import numpy as np

    torch = sys.modules["torch"]
    number = max(1, min(_SLOTS, _WORDS // count))
    with torch.inference_mode(False):  # a tensor created in inference mode cannot be changed outside of it
        host = torch.zeros(
            number * count, dtype=getattr(torch, dtype), device="cpu", pin_memory=device.type in MAPPED
        )
        # float32 needs no conversion, and the copy engine takes less of the caller's time than a kernel.
        target = host if dtype == "float32" else as_seen_by(device, host)
    numbers = host.numpy()
    words = numbers.view(np.int32 if dtype == "float32" else np.int64)
    mark = _SHORT_MARK if dtype == "float32" else _MARK
    words[:] = mark
    if count > 1:
        parts = [slice(i * count, (i + 1) * count) for i in range(number)]
        return [ArraySlot(target[part], words[part], numbers[part], home) for part in parts]
    quick, values = memoryview(words), memoryview(numbers)
    views = enumerate(target.unbind(0))
    return [Slot(view, quick[i : i + 1], values[i : i + 1], home, mark) for i, view in views]


class _Address:
    """Exposes the address of host memory to `torch.as_tensor`."""

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
    if device.type not in MAPPED:
        return host
    torch = sys.modules["torch"]
    try:
        mapped = torch.as_tensor(_Address(host), device=device)
    except Exception:  # this version of torch does not support it; the device's copy engine writes instead
        return host
    return mapped if mapped.data_ptr() == host.data_ptr() and mapped.device == device else host


def current_stream(device: Any) -> int:
    """The address of the current stream of `device`."""
    torch = sys.modules["torch"]
    quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # a tenth of the time of current_stream()
    return int(quick(device.index) if quick else torch.cuda.current_stream(device).cuda_stream)


def _stream(address: int, device: Any) -> Any:
    torch = sys.modules["torch"]
    if address == 0:
        return torch.cuda.default_stream(device)
    return torch.cuda.ExternalStream(address, device=device)
