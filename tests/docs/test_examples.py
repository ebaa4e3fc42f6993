"""The examples in docstrings of doctor, rewrite, write and results run, and every public function has one."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbq
import tbq.results

PACKAGES = ("diagnosis", "results", "rewriting", "write")
# Packages that an example needs and not every environment has; tests/interop installs them and runs these too.
NEEDS = {"add_figure": "matplotlib"}


def modules() -> Iterator[str]:
    for package in PACKAGES:
        path = importlib.import_module(f"tbq.{package}").__path__
        yield from [
            f"tbq.{package}",
            *(found.name for found in pkgutil.walk_packages(path, f"tbq.{package}.")),
        ]
    yield "tbq.arrays"


def examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for name in modules() for test in finder.find(importlib.import_module(name), name)]
    return [test for test in tests if test.examples and not lacking(test.name)]


def lacking(name: str) -> bool:
    needed = NEEDS.get(name.rpartition(".")[2])
    return needed is not None and importlib.util.find_spec(needed) is None


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tbq.demo(tmp_path_factory.mktemp("examples") / "runs")


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_example(test: doctest.DocTest, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(demo, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    with tbq.SummaryWriter(tmp_path / "log") as writer, warnings.catch_warnings():
        warnings.simplefilter("ignore", tbq.TbqWarning)
        test.globs.update(tbq=tbq, np=np, writer=writer)
        said: list[str] = []
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert result.failed == 0, "".join(said)


def public() -> Iterator[tuple[str, Any]]:
    from tbq.diagnosis import codes, doctor, explain
    from tbq.rewriting import rewrite

    for function in (codes, doctor, explain, rewrite, tbq.demo):
        yield function.__name__, function
    for name in tbq.results.__all__:
        yield name, getattr(tbq.results, name)
    for owner in (tbq.SummaryWriter, tbq.results.Rows):
        for name, member in inspect.getmembers(owner):
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                yield f"{owner.__name__}.{name}", member


def test_every_public_function_has_an_example() -> None:
    assert [name for name, member in public() if ">>> " not in (inspect.getdoc(member) or "")] == []
