"""Integrations without their trainers: they name what is missing."""

from __future__ import annotations

import importlib
import sys

import pytest

from tbq.errors import DependencyError, installer

TRAINERS = {
    "accelerate": "accelerate",
    "huggingface": "transformers",
    "keras": "keras",
    "lightning": "lightning",
    "optuna": "optuna",
    "ray": "ray[tune]",
    "sb3": "stable-baselines3",
}


@pytest.mark.parametrize("module", TRAINERS)
def test_what_is_missing(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "lightning.pytorch",
        "pytorch_lightning",
        "stable_baselines3",
        "ray.tune",
        *TRAINERS.values(),
    ):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"tbq.integrations.{module}", raising=False)
    with pytest.raises(DependencyError) as caught:
        importlib.import_module(f"tbq.integrations.{module}")
    assert caught.value.hint == f"{installer()} {TRAINERS[module]}"
    assert f"tbq.integrations.{module} needs {TRAINERS[module]}, which is not installed" in str(caught.value)
