"""The report for people: short, grouped by run, the most important first, then the one thing to do next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tbq.doctor.finding import SEVERITIES, Finding, natural
from tbq.text import printable, shortened, shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAME = 5  # a code found in more runs than this is told once for all of them
_RUNS = 20
_LINES = 8
_NAME = 100  # letters of a run or a tag


def text(findings: Sequence[Finding], path: str, every: bool = False) -> str:
    """The report; `every` leaves nothing out."""
    if not findings:
        return f"{printable(path)}: nothing to complain about"
    counts = [(name, sum(one.severity == name for one in findings)) for name in SEVERITIES]
    said = ", ".join(f"{count:,} {_plural(name, count)}" for name, count in counts if count)
    lines = [f"{printable(path)}: {said}"]
    many = set() if every else _widespread(findings)
    blocks: list[list[str]] = []
    if many:
        blocks.append(["", "in many runs", *(_told_once(code, findings) for code in sorted(many))])
    by_run: dict[str | None, list[Finding]] = {}
    for finding in findings:
        if finding.code not in many:
            by_run.setdefault(finding.run, []).append(finding)
    for run, mine in sorted(by_run.items(), key=lambda item: (_worst(item[1]), natural(item[0] or ""))):
        block = ["", f"run {_name(run)}" if run is not None else "here"]
        shown = mine if every else mine[:_LINES]
        block += [_line(finding) for finding in shown]
        if len(mine) > len(shown):
            block.append(f"  … and {len(mine) - len(shown):,} more of this run")
        blocks.append(block)
    shown_blocks = blocks if every else blocks[:_RUNS]
    for block in shown_blocks:
        lines += block
    if len(blocks) > len(shown_blocks):
        lines += ["", f"… and {len(blocks) - len(shown_blocks):,} more runs: --all shows everything"]
    return "\n".join([*lines, "", _next(findings[0])])


def _next(first: Finding) -> str:
    what = printable(first.hint or "see what it means")
    return f"Next: {what}\n      (more on it: tbq doctor --explain {first.code})"


def _line(finding: Finding) -> str:
    where = ""
    if finding.path is not None:
        where = shown_path(finding.path if finding.run is None else Path(finding.path).name)
        where += f" @ byte {finding.offset}: " if finding.offset is not None else ": "
    if finding.tag is not None:
        where += f"{_name(finding.tag)}: "
    return f"  {finding.severity:<7} {finding.code} {printable(where)}{printable(finding.message)}"


def _name(name: str) -> str:
    return printable(shortened(name, _NAME))


def _told_once(code: str, findings: Sequence[Finding]) -> str:
    mine = [finding for finding in findings if finding.code == code]
    runs = len({finding.run for finding in mine})
    this = f"this one in run {_name(mine[0].run or '.')}"
    return f"{_line(mine[0])}\n          … {len(mine):,} such findings in {runs:,} runs, {this}"


def _widespread(findings: Sequence[Finding]) -> set[str]:
    runs: dict[str, set[str | None]] = {}
    for finding in findings:
        runs.setdefault(finding.code, set()).add(finding.run)
    return {code for code, mine in runs.items() if len(mine) > _SAME}


def _worst(findings: Sequence[Finding]) -> int:
    return min(SEVERITIES.index(finding.severity) for finding in findings)


def _plural(name: str, count: int) -> str:
    if name == "info":
        return "for information"
    return name if count == 1 else f"{name}s"
