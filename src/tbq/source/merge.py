"""Merges several runs into one, such as the `version_0`, `version_1` that a trainer creates for each start."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from tbq.arguments import bad
from tbq.errors import SelectionError, UsageError
from tbq.select import as_shown, closest_tip
from tbq.source.copies import without_copies
from tbq.source.discover import Found, Run
from tbq.source.urls import common_parts, is_remote
from tbq.text import shown_path

#: Which runs become one: `{"job": ["job1", "job2"]}`, `"job1,job2=job"`, or `"re:(.*)/v.*"`; or a list of strings.
Merging = str | Sequence[str] | Mapping[str, Sequence[str]]

_WANT = r"A,B=NAME, or re: and an expression with brackets around the name, e.g. re:(.*)/version_\d+"


def merge_runs(found: Found, merging: Merging) -> Found:
    r"""Merge the runs to which `merging` gives the same name; the other runs stay as they are.

    >>> found = Found(["runs"], [Run("a/version_0", "", ["x"]), Run("a/version_1", "", ["y"]), Run("b", "", ["z"])])
    >>> [(run.name, run.files) for run in merge_runs(found, r"re:(.*)/version_\d+").runs]
    [('a', ['x', 'y']), ('b', ['z'])]
    """
    try:
        names = merged_names([run.name for run in found.runs], merging)
    except SelectionError as failure:
        failure.path = ", ".join(map(shown_path, found.paths))
        raise
    parts: dict[str, list[Run]] = {}
    for run in found.runs:
        parts.setdefault(names.get(run.name, run.name), []).append(run)
    return found._replace(runs=[joined_run(name, parts[name]) for name in sorted(parts)])


def joined_run(name: str, parts: Sequence[Run]) -> Run:
    """Merge several runs into one. A file that is a copy of another one in it is not read."""
    first = parts[0]
    copies = [copy._replace(run=name) for part in parts for copy in part.copies]
    if len(parts) == 1:
        return first._replace(name=name, copies=copies)
    folder = first.path
    for part in parts[1:]:
        folder = _above(folder, part.path) if folder and part.path else folder
    remote = next((part.remote for part in parts if part.remote is not None), None)
    files, more = without_copies(name, [path for part in parts for path in part.files], remote)
    return first._replace(
        remote=remote,
        name=name,
        path=folder,
        files=files,
        copies=[*copies, *more],
        below=frozenset().union(*(part.below for part in parts)),
        folded=[sub for part in parts for sub in part.folded],
    )


def merged_names(runs: Sequence[str], merging: Merging) -> dict[str, str]:
    """The new name of each run that is merged. A `re:` expression must match the full name of a run.

    >>> merged_names(["a", "b", "c"], "a,b=ab")
    {'a': 'ab', 'b': 'ab'}
    """
    names: dict[str, str] = {}
    for new, parts in _rules(merging):
        matched = _matching(runs, parts) if new is None else dict.fromkeys(_named(runs, new, parts), new)
        for run, name in matched.items():
            if run in names:
                raise UsageError(f"run {run!r} is merged twice")
            names[run] = name
    for new in sorted({*names.values()} & {*runs} - {*names}):
        raise UsageError(
            f"run {new!r} exists and is not one of the runs to merge",
            hint=f"choose another name, or merge {new!r} too",
        )
    return names


def _rules(merging: object) -> list[tuple[str | None, list[str]]]:
    """Each rule: the new name and the runs, or None and the `re:` expression."""
    if isinstance(merging, Mapping):
        return [(_shown(new), _parts(parts)) for new, parts in merging.items()]
    if not isinstance(merging, str | Iterable):
        raise bad("merge_runs", merging, _WANT)
    rules: list[tuple[str | None, list[str]]] = []
    for each in [merging] if isinstance(merging, str) else merging:
        if not isinstance(each, str):
            raise bad("merge_runs", each, _WANT)
        parts, _, new = each.rpartition("=")
        if each.startswith("re:"):
            rules.append((None, [each]))
        elif parts and new:
            rules.append((new, parts.split(",")))
        else:
            raise bad("merge_runs", each, _WANT)
    return rules


def _parts(names: object) -> list[str]:
    if not isinstance(names, str | Iterable):
        raise bad("merge_runs", names, "the names of runs, e.g. {'job': ['job1', 'job2']}")
    return [_shown(part) for part in ([names] if isinstance(names, str) else names)]


def _shown(name: object) -> str:
    if not isinstance(name, str):
        raise bad("merge_runs", name, "the name of a run")
    return as_shown(name)


def _named(runs: Sequence[str], new: str, parts: Sequence[str]) -> Sequence[str]:
    if len(set(parts)) < 2:
        raise UsageError(f"merge_runs: {new!r} needs at least two runs, got {', '.join(parts)}")
    for part in parts:
        if part not in runs:
            tip = closest_tip(part, runs)
            raise SelectionError(f"no run is called {part!r}, so it cannot be merged into {new!r}{tip}")
    return list(dict.fromkeys(parts))


def _matching(runs: Sequence[str], expressions: Sequence[str]) -> dict[str, str]:
    (pattern,) = expressions
    expression = _compiled(pattern)
    matches = {run: match for run in runs if (match := expression.fullmatch(run)) is not None}
    if not matches:
        raise SelectionError(
            f"no run matches merge_runs={pattern!r}", hint="runs here: " + ", ".join(runs[:5])
        )
    return {run: match[1] or "." for run, match in matches.items()}


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        expression = re.compile(pattern.removeprefix("re:"), re.DOTALL)
    except re.error as failure:
        raise bad("merge_runs", pattern, "a regular expression after 're:'", hint=str(failure)) from None
    if expression.groups < 1:
        raise bad("merge_runs", pattern, _WANT)
    return expression


def _above(first: str, other: str) -> str:
    """The nearest directory that contains both."""
    if is_remote(first) or is_remote(other):
        return "/".join(common_parts([path.rstrip("/").split("/") for path in (first, other)]))
    if os.path.isabs(first) != os.path.isabs(other):
        first, other = os.path.abspath(first), os.path.abspath(other)
    return os.path.commonpath([first, other])
