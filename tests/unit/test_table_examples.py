"""The examples in the docstrings of tables, selections and formats run."""

import doctest
import importlib

import pytest

MODULES = [
    "tbq.arguments", "tbq.export", "tbq.export.runs", "tbq.export.target", "tbq.names", "tbq.schema", "tbq.select",
    "tbq.source.discover", "tbq.source.walk", "tbq.table.columns", "tbq.table.draw", "tbq.table.relative",
    "tbq.table.table",
]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted > 0
    assert done.failed == 0
