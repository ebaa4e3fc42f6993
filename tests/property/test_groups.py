"""Groups for somebody else are the same groups, found in a time that no expression can draw out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbq.errors import SelectionError, TbqError
from tbq.query.groups import group_runs

NAMES = st.lists(st.text("ab1/=.\n", min_size=1, max_size=12), min_size=1, max_size=8, unique=True)
PARTS = [
    "a",
    "b",
    "1",
    "/",
    "=",
    ".",
    ".*",
    ".+",
    "a*",
    "(a|b)",
    "(.*)",
    "(?:ab)?",
    "[ab]",
    "[^/]+",
    r"\d+",
    "(a)?",
    "$",
    "^",
]


@settings(max_examples=300, deadline=None)
@given(NAMES, st.lists(st.sampled_from(PARTS), min_size=1, max_size=5))
def test_both_ways_find_the_same_groups(names: list[str], parts: list[str]) -> None:
    by = "re:" + "".join(parts)
    try:
        want = group_runs(names, by, foreign=True)
    except SelectionError:
        want = {}
    pattern = re.compile("".join(parts), re.DOTALL)
    found = {name: match for name in names if (match := pattern.fullmatch(name))}
    assert want == {name: (match[1] if pattern.groups else None) or match[0] for name, match in found.items()}


def test_no_expression_takes_for_ever() -> None:
    names = ["a" * 300, "a" * 299 + "b"]
    assert group_runs(names, "re:(a+)+b", foreign=True).keys() == {names[1]}
    assert group_runs(names, "re:.*.*.*.*.*.*.*.*b", foreign=True).keys() == {names[1]}
    assert group_runs(names, "*a*a*a*a*a*a*a*a*b", foreign=True).keys() == {names[1]}


@pytest.mark.parametrize("by", [r"re:(a)\1", "re:(?=a)a", "re:("])
def test_what_is_not_known_is_said(by: str) -> None:
    with pytest.raises(TbqError, match="group"):
        group_runs(["aa"], by, foreign=True)
