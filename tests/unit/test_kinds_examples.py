"""The examples in the docstrings of kinds and media run."""

import doctest
import importlib

import pytest

MODULES = [
    "tbq.export.everything", "tbq.export.names", "tbq.kinds.hparam_runs", "tbq.kinds.histograms", "tbq.kinds.images",
    "tbq.kinds.keras_models", "tbq.kinds.meshes", "tbq.kinds.projector", "tbq.kinds.tensors", "tbq.kinds.texts",
]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted > 0
    assert done.failed == 0
