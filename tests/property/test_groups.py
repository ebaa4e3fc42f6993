"""Groups for untrusted clients are the same groups, found in bounded time for any expression."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from profiles import examples

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
#: Expressions that RE2 and Python read differently, and names for which it matters.
FOREIGN_NAMES = st.lists(
    st.text("ab1_-/[]: :\u00a0\u0085\u1680\x1céßÜ日本٣²Ⅷ\u0301‿…\b", min_size=1, max_size=8),
    min_size=1,
    max_size=8,
    unique=True,
)
FOREIGN_PARTS = [
    r"\w", r"\w+", r"\W", r"\d", r"\D+", r"\s", r"\S*", "(.)", "(.*)", "a{,2}", "(?:é){1,}", r"[\w-]+", r"[^\W_]+",
    r"[\d/]", r"[^\D]",
    r"[\s_]", r"[^\S]", r"[]a]", r"[^]a]", "[[:alpha:]]", r"[a\]{,2}]", r"\u00e9",
    r"[\u00e9\U000065e5]", r"[\b]", r"\[", r"\\w?", r"(\w)",
]  # fmt: skip


@pytest.mark.long
@examples(600)
@given(
    st.one_of(
        st.tuples(NAMES, st.lists(st.sampled_from(PARTS), min_size=1, max_size=5)),
        st.tuples(FOREIGN_NAMES, st.lists(st.sampled_from(FOREIGN_PARTS), min_size=1, max_size=4)),
    )
)
@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
def test_both_ways_find_the_same_groups(case: tuple[list[str], list[str]]) -> None:
    names, parts = case
    # To Python alone the end is also before a newline that ends the name.
    assume("$" not in parts or not any(name.endswith("\n") for name in names))
    by = "re:" + "".join(parts)
    try:
        want = group_runs(names, by, foreign=True)
    except SelectionError:
        want = {}
    pattern = re.compile("".join(parts), re.DOTALL)
    found = {name: pattern.fullmatch(name) for name in names}
    assert want == {
        name: (match[1] if pattern.groups else None) or match[0]
        for name, match in found.items()
        if match and match[0]
    }


def test_no_expression_takes_for_ever() -> None:
    names = ["a" * 300, "a" * 299 + "b"]
    assert group_runs(names, "re:(a+)+b", foreign=True).keys() == {names[1]}
    assert group_runs(names, "re:.*.*.*.*.*.*.*.*b", foreign=True).keys() == {names[1]}
    assert group_runs(names, "*a*a*a*a*a*a*a*a*b", foreign=True).keys() == {names[1]}


@pytest.mark.parametrize("by", [r"re:(a)\1", "re:(?=a)a", "re:("])
def test_what_is_not_known_is_said(by: str) -> None:
    with pytest.raises(TbqError, match=r"^by: got"):
        group_runs(["aa"], by, foreign=True)
