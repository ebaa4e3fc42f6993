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

ROOT = Path(tbq.__file__).parent
#: Files of these have examples; those of the writer and of results have tests of their own.
PARTS = (
    "source", "decode", "columns", "export", "table", "kinds", "query", "plot", "watch", "cli", "doctor", "compat",
    "board", "serve", "lake",
)  # fmt: skip
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


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, names: dict[str, Any]) -> None:
    done = doctest.testmod(importlib.import_module(name), extraglobs=names)
    assert done.attempted > 0
    assert done.failed == 0


def test_every_public_method_has_an_example() -> None:
    missing = [
        name
        for name, member in inspect.getmembers(tbq.LogDir)
        if not name.startswith("_") and ">>> " not in (inspect.getdoc(member) or "")
    ]
    assert missing == []
    assert all(">>> " in (inspect.getdoc(function) or "") for function in (tbq.open, tbq.read))
