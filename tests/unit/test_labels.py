"""Labels of names: the table of cases that the page shares, and what holds for any names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbq.labels import labels
from tbq.plot.cells import cell_len

RULES = Path(__file__).parents[1] / "fixtures" / "rules" / "labels.json"


@pytest.mark.parametrize("case", json.loads(RULES.read_text("utf-8")), ids=lambda case: case["about"])
def test_labels_are_those_of_the_table(case: dict[str, Any]) -> None:
    assert labels(case["names"], case["room"]) == case["labels"]


NAMES = st.lists(st.text(st.sampled_from("ab01=_/, 損"), min_size=1, max_size=20), min_size=1, max_size=40)


@given(NAMES, st.integers(6, 16))
def test_different_names_have_different_labels_that_fit(names: list[str], room: int) -> None:
    of_name = dict(zip(names, labels(names, room, cell_len), strict=True))
    assert len(set(of_name.values())) == len(of_name)
    assert all(0 < cell_len(label) <= room for label in of_name.values())
