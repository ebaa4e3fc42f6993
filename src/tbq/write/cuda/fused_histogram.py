"""Histograms of CUDA tensors in one pass: two launches instead of a dozen of torch's operations.

The kernels of `histogram.cu` are compiled at the first histogram of a device, by a thread of its own. Until they are
ready, and wherever they cannot be had (no NVRTC, another vendor's device), `device_histogram` counts as it does without
them. The log `tbq.write` tells why, at its debug level.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.write import slots
from tbq.write.cuda import nvrtc
from tbq.write.tally import edges, edges_float32

if TYPE_CHECKING:
    from tbq.write.pending import Value

logger = logging.getLogger("tbq.write")

#: Turns the kernels off. Tests and benchmarks set it to compare both ways.
general_only = os.environ.get("TBQ_CUDA_KERNELS") == "0"

DEVICES = {"cuda"}
#: The types that are counted here. Bytes of the other ones are not those of a number that CUDA has.
TYPES = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")
THREADS = 512
_UNROLLED = 8  # the next three as in histogram.cu
_COLUMNS = 32
_MOMENTS = 4
_GROUP_BITS = 13


class Work(ctypes.Structure):
    """The argument of the kernels."""

    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("numbers", "count", "moments", "counts", "result", "blocks")
    )


class Compilation(threading.Thread):
    """Compiles the kernels for an architecture. The end of the program waits for it, some tenths of a second."""

    def __init__(self, architecture: str, version: str) -> None:
        super().__init__(name=f"tbq-compile-{architecture}", daemon=False)
        self._arguments = architecture, version
        self.code: bytes | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        """Leaves the code, or an error."""
        try:
            self.code = nvrtc.compiled(source(), *self._arguments)
        except Exception as error:
            self.error = error
            logger.debug("histograms are counted with torch's operations: %s", error)


_compilations: dict[str, Compilation] = {}
_modules: dict[int, nvrtc.Module | Exception] = {}  # by the device's index


def _forget() -> None:
    _compilations.clear()
    _modules.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def expect(device: Any, *, wait: bool = False) -> None:
    """Compile the kernels of a device, unless that was done; with `wait`, raise if they cannot be had."""
    torch = sys.modules["torch"]
    if general_only:
        if wait:
            raise nvrtc.KernelError("the CUDA kernels are turned off")
        return
    if device.type != "cuda" or not getattr(torch.version, "cuda", None):
        if wait:
            raise nvrtc.KernelError(f"{device} is not a CUDA device")
        return
    index = torch.cuda.current_device() if device.index is None else device.index
    compilation = _compilation(torch, index)
    if wait:
        compilation.join()
    if compilation.is_alive() or (compilation.code is None and compilation.error is None):
        return  # or it has not begun
    if index not in _modules:
        _modules[index] = _loaded(compilation, index)
    module = _modules[index]
    if wait and isinstance(module, Exception):
        raise module


def _compilation(torch: Any, index: int) -> Compilation:
    major, minor = torch.cuda.get_device_capability(index)
    architecture = f"sm_{major}{minor}"
    if architecture not in _compilations:
        new = Compilation(architecture, torch.version.cuda)
        if _compilations.setdefault(architecture, new) is new:
            try:
                new.start()
            except RuntimeError as error:  # the program ends, or has too many threads
                new.error = error
    return _compilations[architecture]


def _loaded(compilation: Compilation, index: int) -> nvrtc.Module | Exception:
    if compilation.code is None:
        return compilation.error or nvrtc.KernelError("not compiled")
    names = [*(f"count_{name}" for name in TYPES), "join"]
    try:
        return nvrtc.Module(_driver(), compilation.code, index, names, THREADS)
    except Exception as error:
        logger.debug("histograms are counted with torch's operations: %s", error)
        return error


@cache
def _driver() -> nvrtc.Driver:
    return nvrtc.Driver()


def ready(device: Any, name: str) -> bool:
    """Whether tensors of a type are counted here; if not yet, the kernels are compiled."""
    if general_only or device.type not in DEVICES or name not in TYPES:
        return False
    if device.index not in _modules:
        expect(device)
    return isinstance(_modules.get(device.index), nvrtc.Module)


def captured(flat: Any, name: str) -> Value | None:
    """The counts and moments of a vector, which arrive later; None if they must be counted otherwise."""
    slot = slots.slot(flat.device, "float64", _words())
    if slot.view.device != flat.device:  # the device cannot write to the host's memory
        vector = row(flat, name)
        if vector is not None:
            slot.fill(vector)
            return slot
    elif _launched(flat, name, slot.view):
        slot.expect(flat.device)
        return slot
    slot.give_back()
    return None


def row(flat: Any, name: str) -> Any:
    """The same as a float64 vector on the device of the numbers, for `tally`, or None."""
    torch = sys.modules["torch"]
    result = torch.empty(_words(), dtype=torch.float64, device=flat.device)
    return result if _launched(flat, name, result) else None


def _launched(flat: Any, name: str, result: Any) -> bool:
    """Count on the current stream; False if the kernels cannot be used. They are ready."""
    torch = sys.modules["torch"]
    device, count, kernel = flat.device, flat.numel(), f"count_{name}"
    module = _modules[device.index]
    assert isinstance(module, nvrtc.Module)
    bins = _words() - _MOMENTS
    blocks = min(module.resident[kernel], -(-count // (module.threads * _UNROLLED)))
    try:
        memory = torch.empty(blocks * (8 * _MOMENTS + 4 * bins), dtype=torch.uint8, device=device)
        moments, numbers = memory.data_ptr(), flat.data_ptr()
        if not moments or not numbers:
            return False  # they stand for others, and have no memory
        work = Work(numbers, count, moments, moments + 8 * _MOMENTS * blocks, result.data_ptr(), blocks)
        stream = slots.current_stream(device)
        driver = module.driver
        entered = driver.enter(module.context)
        try:
            driver.launch(module.functions[kernel], blocks, module.threads, stream, work)
            driver.launch(module.functions["join"], -(-bins // _COLUMNS) + 1, module.threads, stream, work)
        finally:
            if entered:
                driver.leave()
    except RuntimeError as error:  # if the device itself has failed, torch's operations will say so
        logger.debug("a histogram is counted with torch's operations: %s", error)
        return False
    return True


@cache
def _words() -> int:
    """The length of a vector for `tally`."""
    return len(edges()) + 1 + _MOMENTS


@cache
def source(threads: int = THREADS) -> str:
    """The source of the kernels, with the host's edges in it."""
    limits = edges_float32()
    least, greatest = _groups()
    with np.errstate(invalid="ignore"):
        starts = np.searchsorted(limits, least, side="right")
        inside = np.searchsorted(limits, greatest, side="right") - starts
    starts[np.isnan(least) & np.signbit(least)] = 0  # -inf is in the last of these groups
    if (inside[~np.isnan(least) & ~np.isnan(greatest)] > 1).any():
        raise nvrtc.KernelError("two edges are too near to each other for the table of the kernel")
    single = np.append(limits, np.float32("nan")).view(np.uint32)
    double = np.append(edges(), np.nan).view(np.uint64)
    tables = [
        f"#define THREADS {threads}",
        f"#define EDGES {len(limits)}",
        f"__device__ const unsigned int edges32[] = {{{','.join(map(hex, single.tolist()))}}};",
        f"__device__ const unsigned long long edges64[] = {{{','.join(map(hex, double.tolist()))}}};",
        f"__device__ const unsigned short starts[] = {{{','.join(map(str, starts.tolist()))}}};",
    ]
    text = Path(__file__).with_name("histogram.cu").read_text(encoding="utf-8")
    return "\n".join([*tables, text])


def _groups() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The least and the greatest float32 of each group: those that share their first bits in the order of numbers."""
    rest = 32 - _GROUP_BITS
    first = np.arange(1 << _GROUP_BITS, dtype=np.uint32) << np.uint32(rest)

    def number(order: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        top = np.uint32(1 << 31)
        return np.where(order & top, order ^ top, ~order).astype(np.uint32).view(np.float32)

    return number(first), number(first | np.uint32((1 << rest) - 1))
