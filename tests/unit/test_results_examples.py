"""The examples in the docstrings of results run: every module that has one."""

import doctest
import importlib
import pkgutil

import pytest

import tbq.results


def modules():
    for found in pkgutil.walk_packages(tbq.results.__path__, "tbq.results."):
        module = importlib.import_module(found.name)
        if any(test.examples for test in doctest.DocTestFinder(exclude_empty=True).find(module)):
            yield found.name


MODULES = list(modules())


def test_there_are_examples() -> None:
    assert {"tbq.results.metrics", "tbq.results.predictions", "tbq.results.weights"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name)).failed == 0
