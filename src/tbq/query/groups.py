"""Which runs belong together: by a regular expression that names the group, or by globs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tbq.arguments import bad
from tbq.errors import SelectionError, warn
from tbq.query.re2 import as_re2
from tbq.select import Selection, closest


def group_runs(runs: Sequence[str], by: str | Sequence[str], *, foreign: bool = False) -> dict[str, str]:
    r"""The group of each run that has one; runs without one are reported.

    `re:EXPR` with brackets puts a run into the group that the first brackets name; it must match the name of the run
    from its start, and need not reach its end. Without brackets it must match the whole name, as everywhere, which is
    then the group. Anything else is a name or a glob, which also names the group. The first of several that fits a
    run counts.

    If somebody else asks (`foreign`), nothing is reported, and expressions are matched in a time proportional to the
    names: there are some with which Python's own `re` would not end today.

    >>> group_runs(["lr0.1/seed0", "lr0.1/seed1", "lr1/seed0"], r"re:(.*)/seed\d+")
    {'lr0.1/seed0': 'lr0.1', 'lr0.1/seed1': 'lr0.1', 'lr1/seed0': 'lr1'}
    >>> group_runs(["lr0.1/seed0", "lr1/seed0"], "re:(.*)/seed")
    {'lr0.1/seed0': 'lr0.1', 'lr1/seed0': 'lr1'}
    >>> group_runs(["a/0", "a/1"], "a/*")
    {'a/0': 'a/*', 'a/1': 'a/*'}
    """
    want = "a name, a glob, or 're:…' with brackets around what names the group"
    if not isinstance(by, str) and not isinstance(by, Iterable):
        raise bad("group", by, f"{want}, or a list of those")
    given = [by] if isinstance(by, str) else list(by)
    groups: dict[str, str] = {}
    for expression in given:
        if not isinstance(expression, str):
            raise bad("group", expression, want)
        for run, group in _matching(runs, expression, foreign).items():
            groups.setdefault(run, group)
    if not groups:
        near = closest(given[0], list(runs)) if given else []
        raise SelectionError(
            f"no run matches the group {' or '.join(map(repr, given))}",
            hint=None if foreign else _hint(given, near, runs),
        )
    left = [run for run in runs if run not in groups]
    if left and not foreign:
        shown = ", ".join(left[:3]) + (f" and {len(left) - 3:,} more" if len(left) > 3 else "")
        warn(f"{len(left):,} of {len(runs):,} runs are in no group: {shown}")
    return groups


def _hint(given: Sequence[str], near: Sequence[str], runs: Sequence[str]) -> str:
    bare = next((each for each in given if "(" in each and not each.startswith("re:")), None)
    if bare is not None:
        return f"a regular expression starts with re:, e.g. 're:{bare}'"
    for each in given:
        if each.startswith("re:") and any(re.match(each[3:], run, re.DOTALL) for run in runs):
            return f"without brackets the expression must match the whole name of a run: '{each}.*'"
        if each.startswith("re:") and any(re.search(each[3:], run, re.DOTALL) for run in runs):
            return f"the expression must match from the start of a name: 're:.*{each[3:]}'"
    return f"closest: {', '.join(near)}" if near else f"runs here: {', '.join(list(runs)[:5])}"


def _matching(runs: Sequence[str], expression: str, foreign: bool) -> dict[str, str]:
    if not expression.startswith("re:"):
        return dict.fromkeys(Selection.of(expression, "run").resolve(runs).names, expression)
    try:
        pattern = re.compile(expression.removeprefix("re:"), re.DOTALL)
    except re.error as wrong:
        raise bad("group", expression, "a regular expression after 're:'", hint=str(wrong)) from None
    if foreign:
        return _linear(runs, pattern.pattern, pattern.groups > 0)
    groups: dict[str, str] = {}
    for run in runs:
        match = pattern.fullmatch(run)  # first, so that `(.*?)` is the whole name
        if match is None and pattern.groups:
            match = pattern.match(run)
        if match and match[0]:
            groups[run] = (match[1] if pattern.groups else None) or match[0]
    return groups


def _linear(runs: Sequence[str], pattern: str, brackets: bool) -> dict[str, str]:
    """The groups by RE2, which Arrow has: no lookaround, no references to what matched before, but always quick."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(list(runs), pa.string())
    groups: dict[str, str] = {}
    try:
        for end in (".*", "") if brackets else ("",):  # those that match whole come last, and count
            expression = rf"(?s)\A({as_re2(pattern)}){end}\z"
            matched = pc.match_substring_regex(names, expression)
            parts = [pc.replace_substring_regex(names, expression, rf"\{i}") for i in (1, 1 + int(brackets))]
            columns = (each.to_pylist() for each in (names, matched, *parts))
            for run, there, match, group in zip(*columns, strict=True):
                if there and match:
                    groups[run] = group or match
    except pa.ArrowInvalid as wrong:
        raise bad("group", f"re:{pattern}", "a regular expression that RE2 knows", hint=str(wrong)) from None
    return {run: groups[run] for run in runs if run in groups}
