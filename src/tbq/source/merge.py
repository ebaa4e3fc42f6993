"""Several directories as one run, such as the `version_0`, `version_1` that a trainer makes for each start."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from tbq.arguments import bad
from tbq.errors import SelectionError
from tbq.source.discover import Found, Run
from tbq.source.urls import common_parts, is_remote
from tbq.text import shown_path

_WANT = r"re: and an expression with brackets around the name, e.g. re:(.*)/version_\d+"


def merge_runs(found: Found, pattern: str) -> Found:
    r"""Make one run of those that a `re:` expression matches and names alike: its first brackets are the new name.

    The expression must match the full name. The other runs stay as they are.

    >>> found = Found(["runs"], [Run("a/version_0", "", ["x"]), Run("a/version_1", "", ["y"]), Run("b", "", ["z"])])
    >>> [(run.name, run.files) for run in merge_runs(found, r"re:(.*)/version_\d+").runs]
    [('a', ['x', 'y']), ('b', ['z'])]
    """
    expression = _compiled(pattern)
    merged: dict[str, Run] = {}
    matched = False
    for run in found.runs:
        match = expression.fullmatch(run.name)
        matched = matched or match is not None
        name = (match[1] or ".") if match is not None else run.name
        before = merged.get(name)
        if before is None:
            merged[name] = run._replace(name=name)
        else:
            folder = _above(before.path, run.path) if before.path and run.path else before.path
            merged[name] = before._replace(path=folder, files=[*before.files, *run.files])
    if not matched:
        raise SelectionError(
            f"no run matches merge={pattern!r}",
            path=", ".join(map(shown_path, found.paths)),
            hint="runs here: " + ", ".join(run.name for run in found.runs[:5]),
        )
    return replace(found, runs=sorted(merged.values(), key=lambda run: run.name))


def _above(first: str, other: str) -> str:
    """The directory that both lie in."""
    if is_remote(first) or is_remote(other):
        return "/".join(common_parts([path.rstrip("/").split("/") for path in (first, other)]))
    return os.path.commonpath([first, other])


def _compiled(pattern: object) -> re.Pattern[str]:
    if not isinstance(pattern, str) or not pattern.startswith("re:"):
        named = isinstance(pattern, str) and "=" in pattern
        raise bad(
            "merge", pattern, _WANT, "runs by name: tbq rewrite --merge-runs A,B=NAME" if named else None
        )
    try:
        expression = re.compile(pattern.removeprefix("re:"), re.DOTALL)
    except re.error as failure:
        raise bad("merge", pattern, "a regular expression after 're:'", hint=str(failure)) from None
    if expression.groups < 1:
        raise bad("merge", pattern, _WANT)
    return expression
