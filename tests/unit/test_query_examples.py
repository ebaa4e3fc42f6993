"""The examples in the docstrings of the queries run."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name", ["downsample", "events", "groups", "leaderboard", "reduce", "smooth", "student"]
)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tbq.query.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
