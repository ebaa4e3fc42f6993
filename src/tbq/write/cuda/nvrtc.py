"""CUDA kernels that are compiled while the program runs: NVIDIA's compiler (NVRTC) and driver, by ctypes.

torch brings both libraries. Compiling needs no GPU, and talks to none. Loading and launching do not wait for the
device, and do not disturb the capture of a CUDA graph on another thread.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_RELAXED = 2  # of the modes of a capture: calls of this thread do not end captures of others


class KernelError(RuntimeError):
    """A kernel that cannot be compiled, loaded or launched."""


def compiled(source: str, architecture: str, version: str) -> bytes:
    """The machine code of CUDA source for an architecture such as `sm_90`, by NVRTC of a version of CUDA (`13.0`)."""
    tried: list[str] = []
    for name in _libraries(version.partition(".")[0]):
        try:
            return _compiled(_library(name), source, architecture)
        except (OSError, AttributeError, KernelError) as error:  # another one may be complete
            tried.append(f"{name}: {error}")
    raise KernelError(f"no NVRTC of CUDA {version} compiles for {architecture}: {'; '.join(tried)}")


def _compiled(library: Any, source: str, architecture: str) -> bytes:
    program = ctypes.c_void_p()
    data = source.encode()
    _check_nvrtc(library, library.nvrtcCreateProgram(ctypes.byref(program), data, b"tbq.cu", 0, None, None))
    try:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
        array = (ctypes.c_char_p * len(options))(*options)
        if library.nvrtcCompileProgram(program, len(options), array):
            log = _text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
            raise KernelError(log.rstrip(b"\0").decode(errors="replace").strip())
        return _text(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN, program)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(size: Any, fill: Any, program: ctypes.c_void_p) -> bytes:
    length = ctypes.c_size_t()
    if size(program, ctypes.byref(length)):
        raise KernelError("NVRTC gives no code for this architecture")
    buffer = ctypes.create_string_buffer(max(1, length.value))
    fill(program, buffer)
    return buffer.raw[: length.value]


def _check_nvrtc(library: Any, status: int) -> None:
    if status:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise KernelError(f"NVRTC: {library.nvrtcGetErrorString(status).decode(errors='replace')}")


def _library(name: str) -> Any:
    """NVRTC; its other half, which it looks for by name, may be beside it."""
    library = ctypes.CDLL(name)
    if Path(name).is_absolute():
        for other in Path(name).parent.glob("*nvrtc-builtins*"):
            if ".alt." not in other.name:
                with suppress(OSError):  # a static library, or one of another version
                    ctypes.CDLL(str(other))
    return library


def _libraries(major: str) -> Iterator[str]:
    """Where NVRTC may be: NVIDIA's packages, torch's own folder, CUDA's, and wherever the system looks."""
    windows = sys.platform == "win32"
    name = f"nvrtc64_{major}0_0.dll" if windows else f"libnvrtc.so.{major}"
    inside = "bin" if windows else "lib"
    nvidia = [
        *getattr(sys.modules.get("nvidia"), "__path__", ()),
        *(Path(path, "nvidia") for path in sys.path if isinstance(path, str)),
    ]
    folders = [Path(folder, part, inside) for folder in nvidia for part in ("cuda_nvrtc", f"cu{major}")]
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__:
        folders.append(Path(torch.__file__).parent / "lib")
    if "CUDA_HOME" in os.environ:
        folders.append(Path(os.environ["CUDA_HOME"], "bin" if windows else "lib64"))
    for folder in dict.fromkeys(folders):
        with suppress(OSError):  # a folder that may not be read, or that is gone
            if (folder / name).is_file():
                yield str((folder / name).absolute())
    yield name


class Driver:
    """The functions of the driver that a launch needs."""

    def __init__(self, library: Any = None) -> None:
        library = library or ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        pointer, number = ctypes.c_void_p, ctypes.c_uint
        self._library = library
        self._current = _bound(library, "cuCtxGetCurrent", pointer)
        self._push = _bound(library, "cuCtxPushCurrent_v2", pointer)
        self._pop = _bound(library, "cuCtxPopCurrent_v2", pointer)
        self._launch = _bound(library, "cuLaunchKernel", pointer, *[number] * 7, *[pointer] * 3)

    def check(self, status: int, what: str) -> None:
        """Raise if a function has failed."""
        if status:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(status, ctypes.byref(text))
            why = (text.value or b"unknown error").decode(errors="replace")
            raise KernelError(f"{what}: CUDA error {status}: {why}")

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function whose arguments are ctypes'."""
        self.check(getattr(self._library, name)(*arguments), name)

    def enter(self, context: int) -> bool:
        """Make a context the current one of this thread; False if it is already."""
        current = ctypes.c_void_p()
        self.check(self._current(ctypes.byref(current)), "cuCtxGetCurrent")
        if current.value == context:
            return False
        self.check(self._push(context), "cuCtxPushCurrent")
        return True

    def leave(self) -> None:
        """Undo `enter`."""
        self._pop(ctypes.byref(ctypes.c_void_p()))

    def launch(self, function: int, blocks: int, threads: int, stream: int, argument: Any) -> None:
        """Queue a kernel that takes one struct."""
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        status = self._launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, None)
        if status:
            self.check(status, "cuLaunchKernel")


def _bound(library: Any, name: str, *types: Any) -> Any:
    function = getattr(library, name)
    function.argtypes = types
    return function


class Module:
    """Kernels on one device."""

    def __init__(self, driver: Driver, code: bytes, device: int, names: Iterable[str], threads: int) -> None:
        self.driver = driver
        self.threads = threads
        self.functions: dict[str, int] = {}
        self.resident: dict[str, int] = {}  # how many blocks of each the device runs at a time
        context, module, ordinal = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        driver.call("cuDeviceGet", ctypes.byref(ordinal), ctypes.c_int(device))
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal)  # torch's
        if context.value is None:
            raise KernelError("the device has no context")
        self.context = context.value
        mode = ctypes.c_int(_RELAXED)
        entered = driver.enter(self.context)
        try:
            driver.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
            try:
                driver.call("cuModuleLoadData", ctypes.byref(module), code)
                many = self._attribute(16, ordinal)  # multiprocessors
                for name in names:
                    self._find(module, name, many)
            finally:
                driver.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        finally:
            if entered:
                driver.leave()

    def _attribute(self, which: int, ordinal: ctypes.c_int) -> int:
        value = ctypes.c_int()
        self.driver.call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(which), ordinal)
        return value.value

    def _find(self, module: ctypes.c_void_p, name: str, many: int) -> None:
        function, each = ctypes.c_void_p(), ctypes.c_int()
        self.driver.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        self.driver.call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(each), function, ctypes.c_int(self.threads), ctypes.c_size_t(0),
        )  # fmt: skip
        self.functions[name] = function.value or 0
        self.resident[name] = max(1, each.value) * many
