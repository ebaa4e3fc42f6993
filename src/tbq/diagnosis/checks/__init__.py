"""All checks, one file each: a RULE, a function `check(survey)`, and a docstring for `tbq doctor --explain`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tbq.arguments import bad
from tbq.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from tbq.diagnosis.finding import Finding, Rule
    from tbq.diagnosis.survey import Survey

# In the order of their codes.
_MODULES = (
    "no_event_files",
    "wrong_directory",
    "missing_path",
    "header_only",
    "empty_file",
    "git_lfs",
    "not_events",
    "unreadable",
    "compressed",
    "unpacking",
    "damaged_log",
    "still_writing",
    "truncated",
    "bad_length",
    "bad_data",
    "zeros",
    "garbage",
    "bad_event",
    "read_failed",
    "overlap",
    "many_files",
    "overwritten",
    "clock",
    "name_order",
    "copied",
    "two_formats",
    "duplicate_steps",
    "backward_steps",
    "restart",
    "no_steps",
    "evaluated_first",
    "gap",
    "stops_early",
    "rerun",
    "crashed",
    "not_finite",
    "constant",
    "saturated",
    "counter",
    "not_scalar",
    "dtype",
    "rounded",
    "text_dtype",
    "run_names",
    "tag_names",
    "illegal_tags",
    "hparams_runs",
    "media",
    "torch_tensors",
    "file_version",
    "add_scalars",
    "no_times",
)


#: Checks of several runs, or of none; the other checks examine each run by itself.
_OF_LOG = frozenset(
    (
        "no_event_files", "wrong_directory", "missing_path", "header_only", "run_names", "hparams_runs",
        "add_scalars", "copied", "crashed", "two_formats",
    )
)  # fmt: skip


def examine(survey: Survey, checks: Sequence[Check]) -> Iterator[Finding]:
    """Run checks; in a large log, checks of single runs get a few runs at a time."""
    findings: dict[str, list[Finding]] = {check.rule.code: [] for check in checks}
    of_runs = [check for check in checks if check.is_of_runs]
    gathered = []
    for part in survey.parts() if of_runs else ():
        for check in of_runs:
            findings[check.rule.code] += check.run(part)
        if part is not survey:
            gathered.append(part.gathered())
    if gathered:
        survey.join(gathered)
    for check in checks:
        if not check.is_of_runs:
            findings[check.rule.code] += check.run(survey)
    for finding in (each for of_check in findings.values() for each in of_check):
        above = survey.run_above.get(finding.run or "")
        yield finding if above is None else replace(finding, run=above)


@dataclass(frozen=True)
class Check:
    """A check, loaded from its module."""

    module: ModuleType

    @property
    def rule(self) -> Rule:
        rule: Rule = self.module.RULE
        return rule

    @property
    def is_of_runs(self) -> bool:
        """Whether it examines one run at a time."""
        return self.module.__name__.rpartition(".")[2] not in _OF_LOG

    @property
    def title(self) -> str:
        return inspect.cleandoc(self.module.__doc__ or "").splitlines()[0]

    @property
    def explanation(self) -> str:
        rule = self.rule
        return f"{rule.code} {rule.name} ({rule.severity})\n\n{inspect.cleandoc(self.module.__doc__ or '')}"

    def run(self, survey: Survey) -> Iterator[Finding]:
        findings: Iterator[Finding] = self.module.check(survey)
        return findings


@cache
def all_checks() -> list[Check]:
    """All checks, by code."""
    return [Check(importlib.import_module(f"{__name__}.{name}")) for name in _MODULES]


def by_code(code: str) -> Check:
    """The check with this code or name."""
    if not isinstance(code, str):
        raise bad("code", code, "a code such as TBQ104")
    for check in all_checks():
        if code.upper() == check.rule.code or code.lower() == check.rule.name:
            return check
    known = ", ".join(check.rule.code for check in all_checks())
    raise UsageError(f"unknown code {code!r}", hint=f"codes: {known}")


def chosen(select: str | Sequence[str] | None, ignore: str | Sequence[str]) -> list[Check]:
    """The checks to run: those whose code starts with an entry of `select` and with none of `ignore`."""
    wanted = _codes("select", select) or [""]
    unwanted = _codes("ignore", ignore)
    for prefix in (*wanted, *unwanted):
        if not any(check.rule.code.startswith(prefix) for check in all_checks()):
            by_code(prefix)  # raises, and names the known codes
    return [
        check
        for check in all_checks()
        if check.rule.code.startswith(tuple(wanted))
        and not (unwanted and check.rule.code.startswith(tuple(unwanted)))
    ]


def _codes(argument: str, spec: str | Sequence[str] | None) -> list[str]:
    value: object = spec if spec is not None else ()
    items: list[Any] = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if not all(isinstance(item, str) for item in items):
        raise bad(argument, spec, "codes or prefixes of codes, such as TBQ2")
    return [code.strip().upper() for item in items for code in item.split(",") if code.strip()]
