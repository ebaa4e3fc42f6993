"""The examples in docstrings run, all in one namespace: `tbq`, and `log`, the demo log, in an empty folder."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
from pathlib import Path
from typing import Any

import pytest

import tbq
from tbq.kinds.audio import AudioTable
from tbq.kinds.histograms import Histogram, HistogramTable
from tbq.kinds.hparams import HparamTable
from tbq.kinds.meshes import Mesh
from tbq.kinds.overview import TagTable
from tbq.kinds.tensors import TensorTable
from tbq.query.dataset import LogDataset
from tbq.summary.table import SummaryTable

ROOT = Path(tbq.__file__).parent
#: Files of these have examples; `test_examples.py` runs those of the others; integrations need their frameworks.
OTHERS = ("integrations", "results", "rewriting", "write")
PARTS = (
    "source", "decode", "columns", "export", "table", "kinds", "summary", "query", "plot", "dashboard", "cli",
    "diagnosis",
    "compat", "tensorboard", "server", "assistant", "lake", "following",
    "notebook",
)  # fmt: skip
#: Their examples run until they are interrupted, or need a notebook; other tests start them.
TESTED_ELSEWHERE = (
    "tbq.assistant",
    "tbq.tensorboard",
    "tbq.server",
    "tbq.dashboard",
    "tbq.notebook",
)
MODULES = [
    "tbq." + path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if (path.relative_to(ROOT).parts[0] in PARTS or path.parent == ROOT)
    and path != ROOT / "__init__.py"
    and ">>>" in path.read_text(encoding="utf-8")
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tbq.demo(tmp_path_factory.mktemp("demo") / "runs")


@pytest.fixture
def names(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    os.symlink(runs, "runs")
    return {"tbq": tbq, "log": tbq.open("runs")}


def test_no_example_is_left_out() -> None:
    parts = {
        path.relative_to(ROOT).parts[0]
        for path in ROOT.rglob("*.py")
        if path.parent != ROOT and ">>> " in path.read_text(encoding="utf-8")
    }
    assert parts <= {*PARTS, *OTHERS}


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, names: dict[str, Any]) -> None:
    done = doctest.testmod(importlib.import_module(name), extraglobs=names)
    assert done.attempted > 0 or name in TESTED_ELSEWHERE
    assert done.failed == 0


#: Returned types that are not in `tbq` itself.
TABLES = (AudioTable, HistogramTable, HparamTable, SummaryTable, TagTable, TensorTable)
GIVEN = (*TABLES, Histogram, Mesh, LogDataset)
CLASSES = (*(item for item in (getattr(tbq, name) for name in tbq.__all__) if inspect.isclass(item)), *GIVEN)
#: Methods that Arrow documents: they behave as in its own datasets.
OF_ARROW = {"get_fragments", "join", "join_asof", "replace_schema", "sort_by"}


def example(owner: type) -> str:
    """The example of a class, which also shows its properties."""
    return (inspect.getdoc(owner) or "").partition(">>> ")[2]


def test_every_public_method_has_an_example() -> None:
    missing = [
        f"{owner.__name__}.{name}"
        for owner in CLASSES
        for name, member in inspect.getmembers(owner)
        if not name.startswith("_")
        and (inspect.isroutine(member) or isinstance(member, property))
        and getattr(getattr(member, "fget", member), "__module__", "").startswith("tbq")
        and ">>> " not in (inspect.getdoc(member) or "")
        and not (isinstance(member, property) and f".{name}" in example(owner))
        and not (owner is LogDataset and name in OF_ARROW)
    ]
    assert missing == []


def test_every_public_function_has_an_example() -> None:
    functions = {name: getattr(tbq, name) for name in tbq.__all__ if inspect.isfunction(getattr(tbq, name))}
    assert [name for name, item in functions.items() if ">>> " not in (inspect.getdoc(item) or "")] == []
    assert len(functions) > 10
