"""Which runs belong together: by a regular expression that names the group, or by globs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

from tbq.errors import SelectionError, TbqWarning, UsageError
from tbq.select import Selection, closest


def group_runs(runs: Sequence[str], by: str | Sequence[str]) -> dict[str, str]:
    """The group of each run that has one; runs without one are told of.

    `re:EXPR`, or anything with a bracketed part, is searched in the name: the group is called as the first brackets
    hold, or else as what was found. Anything else is a name or a glob, which is also what the group is called.
    The first of several that fits a run counts.

    >>> group_runs(["lr0.1/seed0", "lr0.1/seed1", "lr1/seed0"], "(.*)/seed")
    {'lr0.1/seed0': 'lr0.1', 'lr0.1/seed1': 'lr0.1', 'lr1/seed0': 'lr1'}
    >>> group_runs(["a/0", "a/1"], "a/*")
    {'a/0': 'a/*', 'a/1': 'a/*'}
    """
    given = [by] if isinstance(by, str) else list(by)
    found: dict[str, str] = {}
    for expression in given:
        for run, group in _one(runs, expression).items():
            found.setdefault(run, group)
    if not found:
        near = closest(given[0], list(runs)) if given else []
        raise SelectionError(
            f"no run matches the group {' or '.join(map(repr, given))}",
            hint=f"closest: {', '.join(near)}" if near else f"runs here: {', '.join(list(runs)[:5])}",
        )
    left = [run for run in runs if run not in found]
    if left:
        shown = ", ".join(left[:3]) + (f" and {len(left) - 3:,} more" if len(left) > 3 else "")
        warnings.warn(
            f"{len(left):,} of {len(runs):,} runs are in no group: {shown}", TbqWarning, stacklevel=3
        )
    return found


def _one(runs: Sequence[str], expression: str) -> dict[str, str]:
    if not (expression.startswith("re:") or "(" in expression):
        return dict.fromkeys(Selection.of(expression, "run").resolve(runs).names, expression)
    try:
        pattern = re.compile(expression.removeprefix("re:"), re.DOTALL)
    except re.error as wrong:
        raise UsageError(f"group {expression!r} is no regular expression: {wrong}") from None
    found = {}
    for run in runs:
        match = pattern.search(run)
        if match:
            found[run] = (match[1] if pattern.groups else None) or match[0]
    return found
