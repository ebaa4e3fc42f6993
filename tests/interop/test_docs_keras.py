"""The block of docs/writer.md that needs the real Keras; tests/docs runs all others."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras

import tbq

PAGE = Path(__file__).parents[2] / "docs" / "writer.md"


@pytest.mark.filterwarnings("default")
def test_the_callback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(
        r"```python\n(from tbq\.integrations\.keras import.*?)```", PAGE.read_text(encoding="utf-8"), re.S
    )
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    exec(compile(block, PAGE.name, "exec"), {"model": model, "x": np.ones((8, 4)), "y": np.ones((8, 1))})
    assert tbq.open("logs").scalars(tag="epoch_loss").to_arrow()["step"].to_pylist() == list(range(10))
