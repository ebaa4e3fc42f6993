"""The example of `add_figure`, which needs matplotlib; tests/docs runs all others."""

from __future__ import annotations

import doctest
from pathlib import Path

import tbq


def test_the_example_of_add_figure(tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path) as writer:
        doctest.run_docstring_examples(tbq.SummaryWriter.add_figure, {"writer": writer})
    assert tbq.open(tmp_path).images().to_arrow()["tag"].to_pylist() == ["curve"]
