"""The device of the tests: TBQ_TEST_DEVICE, or the CPU with tensors that take a GPU's path."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> str:
    """Where tensors are; `add_scalar` and `add_histogram` do not wait for those."""
    from tbq.write import device as devices

    name = os.environ.get("TBQ_TEST_DEVICE", "cpu")
    if name == "cpu":
        monkeypatch.setattr(devices, "DEVICES", devices.DEVICES | {"cpu"})
    return name
