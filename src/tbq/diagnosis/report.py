"""The report for people: short, grouped by run, the most important first, each kind of finding with what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tbq.diagnosis.finding import SEVERITIES, Finding
from tbq.text import counted, natural, printable, shortened, shown_path

_SAME = 5  # a code with findings in more runs than this gets a single line
_RUNS = 20
_LINES = 8
_NAME = 100  # characters of a run or a tag


class Findings(list[Finding]):
    """What the doctor found, as a list that can be printed for people."""

    def report(self, path: str = "this log", *, every: bool = False) -> str:
        """What `tbq doctor` prints; `every` leaves nothing out.

        >>> print(tbq.doctor("runs", select="TBQ5").report("runs").splitlines()[0])
        runs: 3 warnings
        """
        return text(self, path, every)

    def __repr__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        import pyarrow as pa

        from tbq.table.draw import page

        names = ("severity", "code", "run", "tag", "message", "hint")
        columns = {name: pa.array([each.to_dict()[name] for each in self], pa.string()) for name in names}
        return page(pa.table(columns), "findings")


def text(findings: Sequence[Finding], path: str, every: bool = False) -> str:
    """The report; `every` omits nothing."""
    path = shown_path(path)
    if not findings:
        return f"{printable(path)}: no problems"
    counts = [(name, sum(finding.severity == name for finding in findings)) for name in SEVERITIES]
    totals = ", ".join(f"{count:,} {_plural(name, count)}" for name, count in counts if count)
    lines = [f"{printable(path)}: {totals}"]
    many = set() if every else _widespread(findings)
    blocks: list[list[str]] = []
    hinted: set[tuple[str, str | None]] = set()
    if many:
        lines_of = [line for code in sorted(many) for line in _summarised(code, findings, hinted)]
        blocks.append(["", "in many runs", *lines_of])
    by_run: dict[str | None, list[Finding]] = {}
    for finding in findings:
        if finding.code not in many:
            by_run.setdefault(finding.run, []).append(finding)
    for run, in_run in sorted(by_run.items(), key=lambda item: (_worst(item[1]), natural(item[0] or ""))):
        block = ["", f"run {_name(run)}" if run is not None else "this path"]
        shown = in_run if every else in_run[:_LINES]
        block += _with_next(shown, hinted)
        if len(in_run) > len(shown):
            block.append(f"  … and {len(in_run) - len(shown):,} more in this run")
        blocks.append(block)
    shown_blocks = blocks if every else blocks[:_RUNS]
    for block in shown_blocks:
        lines += block
    if len(blocks) > len(shown_blocks):
        lines += [
            "",
            f"… and {counted(len(blocks) - len(shown_blocks), 'more run')}: --all (every=True) shows everything",
        ]
    return "\n".join([*lines, "", f"Details: tbq doctor --explain {findings[0].code}"])


def _with_next(findings: Sequence[Finding], hinted: set[tuple[str, str | None]]) -> list[str]:
    """A line per finding; after the last of each code, what to do next, unless the report has it already (`hinted`)."""
    lines = []
    for i, finding in enumerate(findings):
        lines.append(_line(finding))
        if i + 1 == len(findings) or findings[i + 1].code != finding.code:
            first = next(other for other in findings if other.code == finding.code)
            lines += _next(first, hinted)
    return lines


def _next(finding: Finding, hinted: set[tuple[str, str | None]]) -> list[str]:
    """What to do about a finding: one line, or none if the report already said so."""
    if not finding.hint or (finding.code, finding.hint) in hinted:
        return []
    hinted.add((finding.code, finding.hint))
    return [f"          Next: {printable(finding.hint)}"]


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


def _summarised(code: str, findings: Sequence[Finding], hinted: set[tuple[str, str | None]]) -> list[str]:
    alike = [finding for finding in findings if finding.code == code]
    runs = len({finding.run for finding in alike})
    example = f"the first in run {_name(alike[0].run or '.')}"
    count = f"          … {len(alike):,} such findings in {runs:,} runs, {example}"
    return [_line(alike[0]), count, *_next(alike[0], hinted)]


def _widespread(findings: Sequence[Finding]) -> set[str]:
    runs_of: dict[str, set[str | None]] = {}
    for finding in findings:
        runs_of.setdefault(finding.code, set()).add(finding.run)
    return {code for code, runs in runs_of.items() if len(runs) > _SAME}


def _worst(findings: Sequence[Finding]) -> int:
    return min(SEVERITIES.index(finding.severity) for finding in findings)


def _plural(name: str, count: int) -> str:
    noun = "note" if name == "info" else name
    return noun if count == 1 else f"{noun}s"
