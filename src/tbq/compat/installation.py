"""Replaces TensorBoard's, TensorFlow's and tbparse's modules by tbq's, for scripts that import those."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tbq.compat import real_messages

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_EVENTS = "tensorboard.backend.event_processing"
_REPLACED = {
    f"{_EVENTS}.event_accumulator": "tbq.compat.event_accumulator",
    f"{_EVENTS}.event_multiplexer": "tbq.compat.event_multiplexer",
    f"{_EVENTS}.event_file_loader": "tbq.compat.event_file_loader",
    "tensorflow.python.summary.summary_iterator": "tbq.compat.summary_iterator",
    "tbparse": "tbq.compat.tbparse",
}
#: Modules that scripts need in addition, if the tensorboard package is not installed.
_ADDED = {
    f"{_EVENTS}.directory_watcher": "tbq.compat.directory_watcher",
    "tensorboard.util.tensor_util": "tbq.compat.tensor_util",
}
_ABSENT = object()
_lock = threading.RLock()
_undo: list[Callable[[], object]] = []  # functions that restore the previous state


def install(*, protobuf: bool = False) -> None:
    """Make imports of EventAccumulator, EventMultiplexer, the loaders, summary_iterator and tbparse load tbq's.

    Names that were imported before keep their values. The tensorboard package need not be installed.
    `protobuf=True`: the readers return messages of that package.

    >>> import tbq.compat
    >>> tbq.compat.install()
    >>> from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    >>> EventAccumulator.__module__
    'tbq.compat.event_accumulator'
    >>> tbq.compat.uninstall()
    """
    with _lock:
        uninstall()
        real_messages.default = protobuf
        modules = dict(_REPLACED)
        if _is_installed("tensorboard"):
            importlib.import_module(_EVENTS)
        else:
            modules |= _ADDED
            _add_packages({name.rpartition(".")[0] for name in modules if name.startswith("tensorboard.")})
        for name, ours in modules.items():
            module = importlib.import_module(ours)
            _put(sys.modules, name, module)
            package, _, last = name.rpartition(".")
            if package in sys.modules:
                _put(vars(sys.modules[package]), last, module)
        if "tensorflow" in sys.modules:
            _patch_tensorflow(sys.modules["tensorflow"])
        else:
            sys.meta_path.insert(0, _tensorflow_finder)


def uninstall() -> None:
    """Undo `install`: later imports load the packages' own modules again.

    >>> import tbq.compat
    >>> tbq.compat.uninstall()
    """
    with _lock:
        while _undo:
            _undo.pop()()
        if _tensorflow_finder in sys.meta_path:
            sys.meta_path.remove(_tensorflow_finder)
        real_messages.default = False


def _put(namespace: dict[str, Any], name: str, value: object) -> None:
    before = namespace.get(name, _ABSENT)
    namespace[name] = value

    def undo() -> None:
        if before is _ABSENT:
            namespace.pop(name, None)
        else:
            namespace[name] = before

    _undo.append(undo)


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False
    except ValueError:  # a module without a spec, set by another program
        return True


def _add_packages(names: set[str]) -> None:
    """Add empty packages, so that imports can pass through them."""
    for name in sorted(names):
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            package = ".".join(parts[:depth])
            if package in sys.modules:
                continue
            module = ModuleType(
                package, "Replaces a package that is not installed; created by tbq.compat.install()."
            )
            module.__path__ = []
            _put(sys.modules, package, module)
            if depth > 1:
                _put(vars(sys.modules[".".join(parts[: depth - 1])]), parts[depth - 1], module)


def _patch_tensorflow(tensorflow: Any) -> None:
    from tbq.compat.summary_iterator import summary_iterator

    try:
        train = tensorflow.compat.v1.train
        before = train.summary_iterator
    except AttributeError:
        return
    # Not by `_put`: TensorFlow's modules have attributes outside their dictionaries.
    train.summary_iterator = summary_iterator
    _undo.append(lambda: setattr(train, "summary_iterator", before))


class _TensorFlowFinder(importlib.abc.MetaPathFinder):
    """Waits for the import of TensorFlow, then replaces its `summary_iterator` by tbq's."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                with _lock:
                    if _undo:
                        _patch_tensorflow(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_tensorflow_finder = _TensorFlowFinder()
