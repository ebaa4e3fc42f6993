"""Which runs belong together: by hyperparameters, by a regular expression that names the group, or by globs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.arguments import bad
from tbq.errors import SelectionError, UsageError, warn
from tbq.kinds.hparams import HPARAM
from tbq.numbers import number
from tbq.query.re2 import as_re2
from tbq.select import Selection, closest, closest_tip
from tbq.summary.per_run import hyperparameters
from tbq.text import natural, some, some_have

if TYPE_CHECKING:
    from tbq.decode.reader import Reader

_WANT = "run, hparam.NAME, a glob, or 're:…' with brackets around the group's name"
_SEPARATOR = re.compile(r"[,;\s]")  # of the parts of a name: `tbq.labels` would cut there
_NEXT_HPARAM = re.compile(rf",\s*(?={re.escape(HPARAM)})")


@dataclass(frozen=True)
class Grouping:
    """The group of each run that has one, and the groups in their order."""

    of_run: Mapping[str, str]
    names: Sequence[str]
    numeric: bool = False  # the groups are more than two values of one number
    params: Sequence[str] = ()  # the hyperparameters that define the groups, if any do
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # of these, by group

    @classmethod
    def of(cls, runs: Sequence[str], by: str | Sequence[str], reader: Reader | None) -> Grouping:
        """The groups that `by` defines; without a `reader`, hyperparameters are unknown."""
        wanted = _expressions(by)
        if wanted == ["run"]:
            return cls({run: run for run in runs}, list(runs))
        names = hparam_names(wanted)
        if names is None:
            try:
                return cls.of_names(group_runs(runs, wanted))
            except SelectionError as wrong:
                known = hyperparameters(reader, runs) if reader is not None else {}
                raise _meant(wanted, known) or wrong from None
        if reader is None:
            raise UsageError(
                f"by: {wanted[0]} needs hyperparameters, which a table lacks", hint="use log.plot(...)"
            )
        groups = cls.of_values(runs, names, hyperparameters(reader, runs))
        without = [run for run in runs if run not in groups.of_run]
        message = (
            f"{some_have(len(without), len(runs))} no hyperparameter {' or '.join(names)}, "
            f"and so no group: {some(without)}"
        )
        if without and ("no_group", message, None) not in reader.warned:
            reader.warned.add(("no_group", message, None))
            warn(message)
        return groups

    @classmethod
    def of_names(cls, of_run: Mapping[str, str]) -> Grouping:
        """Groups that are defined by name."""
        return cls(of_run, sorted(set(of_run.values()), key=natural))

    @classmethod
    def of_values(
        cls,
        runs: Sequence[str],
        names: Sequence[str],
        hparams: Mapping[str, Mapping[str, Any]],
    ) -> Grouping:
        """The runs by their values of the hyperparameters `names`; a run that lacks one has no group.

        `hparams` maps each run to its hyperparameters.

        >>> Grouping.of_values(["a", "b"], ["lr"], {"a": {"lr": 0.1}, "b": {"lr": 0.01}}).names
        ['lr=0.01', 'lr=0.1']
        """
        for name in names:
            _check_hparam(runs, name, hparams)
        values = {
            run: tuple(hparams[run][name] for name in names)
            for run in runs
            if all(name in hparams.get(run, ()) for name in names)
        }
        if not values:
            raise SelectionError(f"no run has all of {', '.join(HPARAM + name for name in names)}")
        of_run = {run: _name(names, parts) for run, parts in values.items()}
        by_value = sorted(values, key=lambda run: [*map(value_key, values[run])])
        ordered = list(dict.fromkeys(of_run[run] for run in by_value))
        numeric = (
            len(names) == 1 and len(ordered) > 2 and all(is_number(value) for (value,) in values.values())
        )
        return cls(of_run, ordered, numeric, list(names), {of_run[run]: values[run] for run in by_value})


def _name(names: Sequence[str], values: Sequence[Any]) -> str:
    """The name of a group; quoted are empty texts, texts that look like the next hyperparameter, and names with commas.

    >>> _name(["a", "b"], ["x, b=y", 1.0]), _name(["a", "b"], ["x", "y, b=1"]), _name(["a,b"], [""])
    ("a='x, b=y', b=1", "a=x, b='y, b=1'", "'a,b'=''")
    """
    keys = [f"'{name}'" if _SEPARATOR.search(name) else name for name in names]
    texts = map(value_text, values)
    shown = (
        repr(text) if not text.strip() or any(f", {key}=" in text for key in keys[1:]) else text
        for text in texts
    )
    return ", ".join(f"{key}={text}" for key, text in zip(keys, shown, strict=True))


def hparam_names(by: str | Sequence[str]) -> list[str] | None:
    """The hyperparameters that `by` names; None if it has patterns of names instead.

    >>> hparam_names("hparam.lr,hparam.batch_size"), hparam_names("lr=*")
    (['lr', 'batch_size'], None)
    """
    wanted = _expressions(by)
    names = [each.removeprefix(HPARAM) for each in wanted if each.startswith(HPARAM)]
    if names and len(names) < len(wanted):
        raise bad("by", by, "only hyperparameters, or only patterns of names")
    return names or None


def _expressions(by: str | Sequence[str]) -> list[str]:
    """The expressions of `by`; `hparam.lr,hparam.batch_size` are two."""
    if not isinstance(by, str) and not isinstance(by, Iterable):
        raise bad("by", by, f"{_WANT}, or a list of those")
    expressions = [by] if isinstance(by, str) else list(by)
    if not expressions:
        raise bad("by", by, _WANT)
    for each in expressions:
        if not isinstance(each, str):
            raise bad("by", each, _WANT)
    parts = [_NEXT_HPARAM.split(each) if each.startswith(HPARAM) else [each] for each in expressions]
    return list(dict.fromkeys(part for of_each in parts for part in of_each))


def _meant(expressions: Sequence[str], hparams: Mapping[str, Mapping[str, Any]]) -> SelectionError | None:
    """The error if the user gave hyperparameters without `hparam.`: `lr` or `lr,batch_size`."""
    names = [part.strip() for each in expressions for part in each.split(",")]
    known = {name for of_run in hparams.values() for name in of_run}
    if not known.issuperset(names):
        return None
    return SelectionError(
        f"no run matches the group {' or '.join(map(repr, expressions))}",
        hint=f"hyperparameters are written {','.join(HPARAM + name for name in names)}",
    )


def _check_hparam(runs: Sequence[str], name: str, hparams: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise if no run has the hyperparameter."""
    if not any(name in hparams.get(run, ()) for run in runs):
        names = sorted({each for run in runs for each in hparams.get(run, ())})
        tip = closest_tip(name, names)
        hint = f"hyperparameters: {', '.join(names[:10])}" if names else "no run has any"
        if "," in name:
            hint = (
                f"write {HPARAM} before each: {','.join(HPARAM + part.strip() for part in name.split(','))}"
            )
        raise SelectionError(f"no run has the hyperparameter {name!r}{tip}", hint=hint)


def is_number(value: Any) -> bool:
    """Whether the value of a hyperparameter is a number; a bool is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_key(value: Any) -> tuple[int, float, str]:
    """The place of a hyperparameter's value among others: numbers by size, then texts."""
    if is_number(value):
        return (0, -math.inf if math.isnan(value) else value, "")
    return (1, 0.0, str(value))


def value_text(value: Any) -> str:
    """The value of a hyperparameter in the name of a group.

    >>> value_text(0.001), value_text(64.0), value_text(True)
    ('0.001', '64', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not is_number(value):
        return str(value)
    if value == 0:
        return "0"  # -0.0 too
    short = f"{value:g}" if abs(value) < 1e6 else number(value)
    # Two values are never one group because their first digits are the same.
    return short if float(short.replace(",", "")) == value else repr(value).removesuffix(".0")


def group_runs(runs: Sequence[str], by: str | Sequence[str], *, foreign: bool = False) -> dict[str, str]:
    r"""The group of each run that has one; runs without a group are reported.

    `re:EXPR` must match the full name of a run, as everywhere; its first brackets, if any, name the group.
    Anything else is a name or a glob, which also names the group. If several match a run, the first counts.

    For requests of strangers (`foreign`), nothing is reported, and expressions are matched in a time proportional to
    the names: Python's own `re` would need years for some of them.

    >>> group_runs(["lr0.1/seed0", "lr0.1/seed1", "lr1/seed0"], r"re:(.*)/seed\d+")
    {'lr0.1/seed0': 'lr0.1', 'lr0.1/seed1': 'lr0.1', 'lr1/seed0': 'lr1'}
    >>> group_runs(["a/0", "a/1"], "a/*")
    {'a/0': 'a/*', 'a/1': 'a/*'}
    """
    expressions = _expressions(by)
    groups: dict[str, str] = {}
    for expression in expressions:
        for run, group in _matching(runs, expression, foreign).items():
            groups.setdefault(run, group)
    if not groups:
        near = closest(expressions[0], list(runs))
        raise SelectionError(
            f"no run matches the group {' or '.join(map(repr, expressions))}",
            hint=None if foreign else _hint(expressions, near, runs),
        )
    without_group = [run for run in runs if run not in groups]
    if without_group and not foreign:
        warn(f"{some_have(len(without_group), len(runs))} no group: {some(without_group)}")
    return groups


def _hint(expressions: Sequence[str], near: Sequence[str], runs: Sequence[str]) -> str:
    bare = next((each for each in expressions if "(" in each and not each.startswith("re:")), None)
    if bare is not None:
        return f"a regular expression starts with re:, e.g. 're:{bare}'"
    for each in expressions:
        if each.startswith("re:") and any(re.search(each[3:], run, re.DOTALL) for run in runs):
            return f"the expression must match the full name of a run: 're:.*{each[3:]}.*'"
    return f"closest: {', '.join(near)}" if near else f"runs here: {', '.join(list(runs)[:5])}"


def _matching(runs: Sequence[str], expression: str, foreign: bool) -> dict[str, str]:
    if not expression.startswith("re:"):
        return dict.fromkeys(Selection.of(expression, "run").resolve(runs).names, expression)
    try:
        pattern = re.compile(expression.removeprefix("re:"), re.DOTALL)
    except re.error as wrong:
        raise bad("by", expression, "a regular expression after 're:'", hint=str(wrong)) from None
    if foreign:
        return _linear(runs, pattern.pattern, pattern.groups > 0)
    groups: dict[str, str] = {}
    for run in runs:
        match = pattern.fullmatch(run)
        if match and match[0]:
            groups[run] = (match[1] if pattern.groups else None) or match[0]
    return groups


def _linear(runs: Sequence[str], pattern: str, brackets: bool) -> dict[str, str]:
    """The groups by Arrow's RE2: no lookaround and no back-references, but always quick."""
    # `pyarrow.compute` takes 40 ms to import.
    from pyarrow._compute import MatchSubstringOptions, ReplaceSubstringOptions, call_function

    names = pa.array(list(runs), pa.string())
    expression = rf"(?s)\A({as_re2(pattern)})\z"
    groups: dict[str, str] = {}
    try:
        matched = call_function("match_substring_regex", [names], MatchSubstringOptions(expression))
        replaced = [ReplaceSubstringOptions(expression, rf"\{i}") for i in (1, 1 + int(brackets))]
        parts = [call_function("replace_substring_regex", [names], options) for options in replaced]
    except pa.ArrowInvalid as wrong:
        raise bad("by", f"re:{pattern}", "a regular expression that RE2 supports", hint=str(wrong)) from None
    for run, matches, match, group in zip(
        runs, *(each.to_pylist() for each in (matched, *parts)), strict=True
    ):
        if matches and match:
            groups[run] = group or match
    return groups
