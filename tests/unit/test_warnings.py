"""Every warning of tbq points at the line of the user's code."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from protolog import header, scalar, write

import tbq
from tbq import errors
from tbq.results import MetricsTable, predictions, weight_elements, weights

CALLS = {
    "rewrite": lambda folder: tbq.rewrite(folder / "runs", folder / "new", drop_tag="nothing"),
    "statistics": lambda folder: weights({"a.w": np.array(["x"])}),
    "elements": lambda folder: weight_elements({"a.n": np.array([2**60])}).to_arrow(),
    "written elements": lambda folder: weight_elements({"a.n": np.array([2**60])}).write(
        folder / "x.parquet"
    ),
    "predictions": lambda folder: predictions([[3.0], [-1.0]], labels=[0, 1], task="binary"),
    "streamed predictions": lambda folder: predictions(iter([np.array([3.0])]), task="binary").to_arrow(),
    "metrics": lambda folder: MetricsTable(folder / "metrics.csv", resume=True),
    "writer": lambda folder: tbq.SummaryWriter(folder / "new").add_audio("a", [2.0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_line_of_the_caller(name: str, tmp_path: Path) -> None:
    write(tmp_path / "runs", header(), scalar("loss", 0, 1.0))
    (tmp_path / "metrics.csv").write_text("epoch,loss\n0,0.5\n1,")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name](tmp_path)
    lines = [(each.filename, each.lineno) for each in caught if issubclass(each.category, tbq.TbqWarning)]
    assert lines and all(line == (__file__, CALLS[name].__code__.co_firstlineno) for line in lines)


def test_the_caller_is_named_with_its_line() -> None:
    assert errors.caller() == f"{__file__}:{sys._getframe().f_lineno}"
