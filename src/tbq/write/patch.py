"""`tbq.patch()`: replaces the writers of torch, tensorboardX and TensorBoard in a program that you cannot change.

`python -m tbq.run --patch train.py --lr 0.1` runs a program with tbq's writers; `-m package.train` works too.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from multiprocessing import spawn
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from tbq import wire
from tbq.errors import warn
from tbq.write import image
from tbq.write.arguments import as_array, bad
from tbq.write.replacement import Replacement, TensorboardXWriter
from tbq.write.writer import SummaryWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec


_KERAS = "keras.src.callbacks.tensorboard"


class Writer:
    """The methods of `tensorboard.summary.Writer`, over `SummaryWriter`.

    It writes to a directory. For any other `Output`, the constructor returns TensorBoard's own writer.
    """

    def __new__(cls, output: Any) -> Any:
        """A writer of tbq, or of TensorBoard."""
        if not isinstance(output, str | os.PathLike):
            return _theirs[cls](output)
        return super().__new__(cls)

    def __init__(self, output: str | os.PathLike[str]) -> None:
        self._writer = SummaryWriter(output)

    def add_scalar(
        self,
        tag: str,
        data: Any,
        step: Any,
        *,
        wall_time: Any = None,
        description: str | None = None,
    ) -> None:
        """Add a scalar."""
        self._writer.add_scalar(tag, data, step, wall_time, summary_description=description or "")

    def add_image(
        self,
        tag: str,
        data: Any,
        step: Any,
        *,
        wall_time: Any = None,
        max_outputs: int = 3,
        description: str | None = None,
    ) -> None:
        """Add the first images of a batch [N, H, W, C], or one image, as TensorBoard does: in one tensor."""
        array = as_array(data, "data")
        if array.ndim == 3:
            array = array[None]
        if array.ndim != 4 or 0 in array.shape:
            raise bad("data", f"got shape {array.shape}, want images [N, H, W, C] or one [H, W, C]")
        pixels = [image.to_bytes(image.to_hwc(each, "HWC", "data")) for each in array[:max_outputs]]
        height, width = array.shape[1:3]
        strings = [str(width).encode(), str(height).encode(), *(image.to_png(each) for each in pixels)]
        payload = wire.string_tensor(strings, [len(strings)])
        metadata = wire.metadata("images", b"", "", description or "")
        self._writer.add_summary(wire.value(tag, wire.TENSOR, payload, metadata), step, wall_time)

    def flush(self) -> None:
        """Wait until everything is in the file."""
        self._writer.flush()

    def close(self) -> None:
        """Flush and close."""
        self._writer.close()


class TorchWriter(Replacement):
    """Replaces torch's writer. It is a class of its own so that `unpatch` finds every name bound to it."""


# module -> the name of its writer, and the replacement.
_TARGETS: dict[str, tuple[str, Any]] = {
    "torch.utils.tensorboard.writer": ("SummaryWriter", TorchWriter),
    "torch.utils.tensorboard": ("SummaryWriter", TorchWriter),
    "tensorboardX.writer": ("SummaryWriter", TensorboardXWriter),
    "tensorboardX": ("SummaryWriter", TensorboardXWriter),
    "tensorboard.summary": ("Writer", Writer),
    "tensorboard.summary._writer": ("Writer", Writer),
}
_OURS = {ours for _, ours in _TARGETS.values()}
_theirs: dict[Any, Any] = {}  # our class -> the class that it replaced


def patch() -> None:
    """Replace the writers of torch, tensorboardX and TensorBoard, also in modules that have already imported them.

    Replaces `torch.utils.tensorboard.SummaryWriter`, `tensorboardX.SummaryWriter` and `tensorboard.summary.Writer`.
    Modules imported later are patched on import, also in processes that multiprocessing starts from now on.
    `tbq.unpatch()` undoes it. Open writers do not change.

    It does not replace TensorFlow's writer (`tf.summary`), Keras' `TensorBoard` callback, which uses it, or classes
    that a program has already bound: in subclasses, attributes, default arguments, variables of functions and
    dictionaries. A warning names these.

    >>> import tbq
    >>> tbq.patch()
    >>> tbq.unpatch()
    """
    if _finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _finder)
    if not isinstance(spawn.get_preparation_data, _Preparation):
        spawn.get_preparation_data = _Preparation(spawn.get_preparation_data)
    held: dict[str, None] = {}
    for name, (attribute, _) in _TARGETS.items():
        if name in sys.modules:
            theirs = getattr(sys.modules[name], attribute, None)
            _replace(sys.modules[name])
            held |= dict.fromkeys(_holders(theirs))
    if held:
        warn(
            f"tbq.patch() does not replace {', '.join(held)}: they write with their own writer. Call tbq.patch() "
            "before they are defined or created"
        )
    if _KERAS in sys.modules:
        warn(
            "tbq.patch() does not replace keras.callbacks.TensorBoard, which writes with TensorFlow: use "
            "tbq.integrations.keras.TbqCallback"
        )


def _holders(theirs: Any) -> list[str]:
    """Descriptions of the places that hold a class of another library and cannot be changed."""
    if not isinstance(theirs, type) or theirs in _OURS:
        return []
    subclasses: list[type] = theirs.__subclasses__()
    held = [f"the subclass {each.__module__}.{each.__qualname__}" for each in subclasses]
    own = {"tbq", theirs.__module__.partition(".")[0], "__mp_main__"}
    variables = {
        id(value): f"{name}.{variable}"
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] not in own
        for variable, value in list(getattr(module, "__dict__", {}).items())
    }
    for holder in gc.get_referrers(theirs):
        # Not isinstance: it asks the objects of other libraries, and some warn.
        if id(holder) in variables and not issubclass(type(holder), (type, FunctionType, ModuleType, theirs)):
            held.append(variables[id(holder)])  # such as a dictionary of writers
            continue
        if isinstance(holder, CellType):
            functions = [each for each in gc.get_objects() if type(each) is FunctionType]
            held += [
                f"a variable of {each.__module__}.{each.__qualname__}"
                for each in functions
                if any(cell is holder for cell in each.__closure__ or ())
            ]
            continue
        owners = gc.get_referrers(holder) if isinstance(holder, dict | tuple) else [holder]
        for owner in owners:
            kind = owner if isinstance(owner, type) else type(owner)
            if isinstance(owner, ModuleType) or kind is theirs or theirs in kind.__mro__:
                continue
            if isinstance(owner, FunctionType):
                if theirs in (*(owner.__defaults__ or ()), *(owner.__kwdefaults__ or {}).values()):
                    held.append(f"a default argument of {owner.__module__}.{owner.__qualname__}")
            elif any(value is theirs for value in list(getattr(owner, "__dict__", {}).values())):
                held.append(f"an attribute of {kind.__module__}.{kind.__qualname__}")
    return held


def unpatch() -> None:
    """Undo `patch()`, also in modules that imported a writer while it was replaced.

    Restores the names in modules. Anything else that holds tbq's class keeps it: a subclass, a default argument, an
    attribute of an object.

    >>> import tbq
    >>> tbq.unpatch()
    """
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for ours, theirs in _theirs.items():
        _rename(ours, theirs)


def _replace(module: ModuleType) -> None:
    """Replace the writer of a module, in it and in every module that imported it."""
    attribute, ours = _TARGETS[module.__name__]
    theirs = getattr(module, attribute, None)
    if theirs is not None and theirs is not ours:
        _theirs[ours] = theirs
        _rename(theirs, ours)


def _rename(before: Any, after: Any) -> None:
    """Rebind every name of a module from `before` to `after`, except in the modules of tbq."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "tbq":
            for attribute, value in list(getattr(module, "__dict__", {}).items()):
                if value is before:
                    setattr(module, attribute, after)


class _Finder:
    """Replaces the writers of a module right after its import."""

    def __init__(self) -> None:
        self._busy: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module's own spec, with a loader that replaces the writers after loading."""
        del path, target
        if name not in _TARGETS or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_replace(module: ModuleType) -> None:
            load(module)
            if self in sys.meta_path:  # not if the module is reloaded after unpatch()
                _replace(module)

        spec.loader.exec_module = load_and_replace  # type: ignore[method-assign]
        return spec


_finder: Any = _Finder()


class _Preparation:
    """Wraps multiprocessing's preparation data: a process spawned from a patched process is patched, too."""

    def __init__(self, theirs: Callable[[str], dict[str, Any]]) -> None:
        self._theirs = theirs

    def __call__(self, name: str) -> dict[str, Any]:
        data = self._theirs(name)
        return {**data, "tbq": _Patched()} if _finder in sys.meta_path else data


class _Patched:
    """Calls `patch()` when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return patch, ()
