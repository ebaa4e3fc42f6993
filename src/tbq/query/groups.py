"""Which runs belong together: by a regular expression that names the group, or by globs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tbq.arguments import bad
from tbq.errors import SelectionError, warn
from tbq.select import Selection, closest


def group_runs(runs: Sequence[str], by: str | Sequence[str], *, quiet: bool = False) -> dict[str, str]:
    r"""The group of each run that has one; runs without one are reported, unless `quiet`.

    `re:EXPR` must match the whole name of a run, as everywhere; the group is named by its first brackets, else by the
    whole name. Anything else is a name or a glob, which also names the group. The first of several that fits a run
    counts.

    >>> group_runs(["lr0.1/seed0", "lr0.1/seed1", "lr1/seed0"], r"re:(.*)/seed\d+")
    {'lr0.1/seed0': 'lr0.1', 'lr0.1/seed1': 'lr0.1', 'lr1/seed0': 'lr1'}
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
        for run, group in _matching(runs, expression).items():
            groups.setdefault(run, group)
    if not groups:
        near = closest(given[0], list(runs)) if given else []
        raise SelectionError(
            f"no run matches the group {' or '.join(map(repr, given))}",
            hint=_hint(given, near, runs),
        )
    left = [run for run in runs if run not in groups]
    if left and not quiet:
        shown = ", ".join(left[:3]) + (f" and {len(left) - 3:,} more" if len(left) > 3 else "")
        warn(f"{len(left):,} of {len(runs):,} runs are in no group: {shown}")
    return groups


def _hint(given: Sequence[str], near: Sequence[str], runs: Sequence[str]) -> str:
    bare = next((each for each in given if "(" in each and not each.startswith("re:")), None)
    if bare is not None:
        return f"a regular expression starts with re: and matches the whole name, e.g. 're:{bare}.*'"
    for each in given:
        if each.startswith("re:") and any(re.match(each[3:], run, re.DOTALL) for run in runs):
            return f"the expression must match the whole name of a run: '{each}.*'"
    return f"closest: {', '.join(near)}" if near else f"runs here: {', '.join(list(runs)[:5])}"


def _matching(runs: Sequence[str], expression: str) -> dict[str, str]:
    if not expression.startswith("re:"):
        return dict.fromkeys(Selection.of(expression, "run").resolve(runs).names, expression)
    try:
        pattern = re.compile(expression.removeprefix("re:"), re.DOTALL)
    except re.error as wrong:
        raise bad("group", expression, "a regular expression after 're:'", hint=str(wrong)) from None
    matches = {run: pattern.fullmatch(run) for run in runs}
    return {
        run: (match[1] if pattern.groups else None) or match[0] for run, match in matches.items() if match
    }
