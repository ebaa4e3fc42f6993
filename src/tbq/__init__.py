"""tbq: jq for training logs. `tbq.open("runs")` lists the files of all trackers; its methods give tables."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # instead of typing's, whose import takes as long as Python's start
if TYPE_CHECKING:
    from typing import Any

    from tbq import compat as compat
    from tbq import errors as errors
    from tbq import lake as lake
    from tbq import ray as ray
    from tbq import results as results
    from tbq._core import release_memory as release_memory
    from tbq.assistant import mcp as mcp
    from tbq.dashboard import watch as watch
    from tbq.diagnosis import Finding as Finding
    from tbq.diagnosis import Findings as Findings
    from tbq.diagnosis import doctor as doctor
    from tbq.diagnosis import explain as explain
    from tbq.diagnosis.diagnosis import Diagnosis as Diagnosis
    from tbq.errors import TbqError as TbqError
    from tbq.errors import TbqWarning as TbqWarning
    from tbq.following.follower import Follower as Follower
    from tbq.following.follower import follow as follow
    from tbq.following.update import RunChanges as RunChanges
    from tbq.following.update import Update as Update
    from tbq.kinds.audio import AudioTable as AudioTable
    from tbq.kinds.histograms import Histogram as Histogram
    from tbq.kinds.histograms import HistogramTable as HistogramTable
    from tbq.kinds.hparams import HparamTable as HparamTable
    from tbq.kinds.meshes import Mesh as Mesh
    from tbq.kinds.overview import TagTable as TagTable
    from tbq.kinds.read import read as read
    from tbq.kinds.tensors import TensorTable as TensorTable
    from tbq.logdir import LogDir as LogDir
    from tbq.notebook import live as live
    from tbq.notebook import load_ipython_extension as load_ipython_extension
    from tbq.opening import open as open  # noqa: A004 - the public name
    from tbq.problems import Problem as Problem
    from tbq.rewriting import Rewritten as Rewritten
    from tbq.rewriting import rewrite as rewrite
    from tbq.server import serve as serve
    from tbq.summary.table import SummaryTable as SummaryTable
    from tbq.table.scalars import Series as Series
    from tbq.table.table import Table as Table
    from tbq.tensorboard import board as board
    from tbq.write.demo import demo as demo
    from tbq.write.init import RunWriter as RunWriter
    from tbq.write.init import init as init
    from tbq.write.patch import patch as patch
    from tbq.write.patch import unpatch as unpatch
    from tbq.write.writer import SummaryWriter as SummaryWriter

# Public name -> the module that defines it. Imported on first use, so that `import tbq` stays quick.
_LAZY = {
    "AudioTable": "tbq.kinds.audio",
    "Diagnosis": "tbq.diagnosis.diagnosis",
    "Finding": "tbq.diagnosis",
    "Findings": "tbq.diagnosis",
    "Follower": "tbq.following.follower",
    "Histogram": "tbq.kinds.histograms",
    "HistogramTable": "tbq.kinds.histograms",
    "HparamTable": "tbq.kinds.hparams",
    "LogDir": "tbq.logdir",
    "Mesh": "tbq.kinds.meshes",
    "Problem": "tbq.problems",
    "Rewritten": "tbq.rewriting",
    "RunChanges": "tbq.following.update",
    "RunWriter": "tbq.write.init",
    "Series": "tbq.table.scalars",
    "SummaryTable": "tbq.summary.table",
    "SummaryWriter": "tbq.write.writer",
    "Table": "tbq.table.table",
    "TagTable": "tbq.kinds.overview",
    "TbqError": "tbq.errors",
    "TbqWarning": "tbq.errors",
    "TensorTable": "tbq.kinds.tensors",
    "Update": "tbq.following.update",
    "board": "tbq.tensorboard",
    "demo": "tbq.write.demo",
    "doctor": "tbq.diagnosis",
    "explain": "tbq.diagnosis",
    "follow": "tbq.following.follower",
    "init": "tbq.write.init",
    "live": "tbq.notebook",
    "load_ipython_extension": "tbq.notebook",
    "mcp": "tbq.assistant",
    "open": "tbq.opening",
    "patch": "tbq.write.patch",
    "read": "tbq.kinds.read",
    "release_memory": "tbq._core",
    "rewrite": "tbq.rewriting",
    "serve": "tbq.server",
    "unpatch": "tbq.write.patch",
    "watch": "tbq.dashboard",
}

__all__ = [
    "AudioTable",
    "Diagnosis",
    "Finding",
    "Findings",
    "Follower",
    "Histogram",
    "HistogramTable",
    "HparamTable",
    "LogDir",
    "Mesh",
    "Problem",
    "Rewritten",
    "RunChanges",
    "RunWriter",
    "Series",
    "SummaryTable",
    "SummaryWriter",
    "Table",
    "TagTable",
    "TbqError",
    "TbqWarning",
    "TensorTable",
    "Update",
    "__version__",
    "board",
    "compat",
    "demo",
    "doctor",
    "errors",
    "explain",
    "follow",
    "init",
    "lake",
    "live",
    "load_ipython_extension",
    "mcp",
    "open",
    "patch",
    "ray",
    "read",
    "release_memory",
    "results",
    "rewrite",
    "serve",
    "unpatch",
    "watch",
]

# Modules that `tbq.results.weights(...)` reaches without its own import.
_MODULES = {"compat", "errors", "lake", "ray", "results"}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"tbq.{name}")
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'tbq' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
