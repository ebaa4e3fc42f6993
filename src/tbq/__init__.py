"""tbq: jq for TensorBoard logs. `tbq.open("runs")` lists event files; its methods give tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tbq import results as results
    from tbq._core import release_memory as release_memory
    from tbq.doctor import Finding as Finding
    from tbq.doctor import doctor as doctor
    from tbq.errors import TbqError as TbqError
    from tbq.errors import TbqWarning as TbqWarning
    from tbq.logdir import LogDir as LogDir
    from tbq.logdir import open as open  # noqa: A004 - the public name
    from tbq.problems import Problem as Problem
    from tbq.rewrite import rewrite as rewrite
    from tbq.table.read import read as read
    from tbq.write.demo import demo as demo
    from tbq.write.writer import SummaryWriter as SummaryWriter

# Public name -> the module that defines it; imported when first used, so that `import tbq` stays quick.
_LAZY = {
    "Finding": "tbq.doctor",
    "LogDir": "tbq.logdir",
    "open": "tbq.logdir",
    "Problem": "tbq.problems",
    "read": "tbq.table.read",
    "SummaryWriter": "tbq.write.writer",
    "TbqError": "tbq.errors",
    "TbqWarning": "tbq.errors",
    "demo": "tbq.write.demo",
    "doctor": "tbq.doctor",
    "release_memory": "tbq._core",
    "rewrite": "tbq.rewrite",
}

__all__ = [
    "Finding",
    "LogDir",
    "Problem",
    "SummaryWriter",
    "TbqError",
    "TbqWarning",
    "__version__",
    "demo",
    "doctor",
    "open",
    "read",
    "release_memory",
    "results",
    "rewrite",
]

# Parts that are used as `tbq.results.weights(...)` without an import of their own.
_MODULES = {"results"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"tbq.{name}")
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'tbq' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
