"""What a rewrite did, or would do, in records, values and bytes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tbq.text import counted, printable, shown_path

if TYPE_CHECKING:
    from tbq.problems import Problem


@dataclass(frozen=True)
class RunReport:
    """A run of the new log.

    >>> run = tbq.rewrite("runs", "smaller", drop_kind="images", dry_run=True).runs[-1]
    >>> run.run, run.records_in
    ('resumed', 280)
    """

    run: str
    sources: list[str]  # its source event files
    file: str | None  # the new event file, relative to the new directory; None if the run was dropped
    records_in: int = 0
    records_out: int = 0
    marks: int = 0  # new records that only mark the start or end of a session
    changed: int = 0  # records that were not copied byte for byte
    bytes_in: int = 0
    bytes_out: int = 0
    dropped: dict[str, int] = field(default_factory=dict)  # dropped values, by reason


@dataclass(frozen=True)
class Rewritten:
    """The result of a rewrite; `print(report)` gives a few lines.

    >>> report = tbq.rewrite("runs", "smaller", drop_kind="images", dry_run=True)
    >>> report.files_in, report.files_out
    (10, 9)
    >>> report.records_in, report.records_out, report.changed, report.marks
    (1955, 1952, 0, 0)
    >>> report.bytes_out < report.bytes_in
    True
    >>> report.dropped
    {'selection': 3}
    """

    source: str
    out: str
    dry_run: bool
    runs: list[RunReport]
    gone: list[Problem] = field(default_factory=list)  # skipped damage
    gone_bytes: int = 0
    gone_places: int = 0
    notes: list[str] = field(default_factory=list)

    def _sum(self, name: str) -> int:
        return sum(int(getattr(run, name)) for run in self.runs)

    @property
    def records_in(self) -> int:
        """The records of the source."""
        return self._sum("records_in")

    @property
    def records_out(self) -> int:
        """The records of the new log."""
        return self._sum("records_out")

    @property
    def marks(self) -> int:
        """New records that only mark the start or end of a session."""
        return self._sum("marks")

    @property
    def changed(self) -> int:
        """Records that were not copied byte for byte."""
        return self._sum("changed")

    @property
    def bytes_in(self) -> int:
        """The size of the source files."""
        return self._sum("bytes_in")

    @property
    def bytes_out(self) -> int:
        """The size of the new files."""
        return self._sum("bytes_out")

    @property
    def files_in(self) -> int:
        """The number of source files."""
        return sum(len(run.sources) for run in self.runs)

    @property
    def files_out(self) -> int:
        """The number of new files."""
        return sum(run.file is not None for run in self.runs)

    @property
    def dropped(self) -> dict[str, int]:
        """Dropped values, by reason: "selection", "restarts", "steps", "thinned"."""
        total: dict[str, int] = {}
        for run in self.runs:
            for reason, count in run.dropped.items():
                total[reason] = total.get(reason, 0) + count
        return total

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values.

        >>> tbq.rewrite("runs", "new", dry_run=True).to_dict()["files_out"]
        9
        """
        totals = (
            "files_in",
            "files_out",
            "records_in",
            "records_out",
            "marks",
            "changed",
            "bytes_in",
            "bytes_out",
            "dropped",
        )
        plain = {**asdict(self), **{name: getattr(self, name) for name in totals}}
        for run in plain["runs"]:
            run["sources"] = [shown_path(path) for path in run["sources"]]
            run["file"] = None if run["file"] is None else shown_path(run["file"])
        for problem in plain["gone"]:
            problem["path"] = None if problem["path"] is None else shown_path(problem["path"])
        return {**plain, "out": shown_path(self.out)}

    def __str__(self) -> str:
        verb = "would write" if self.dry_run else "wrote"
        lines = [
            f"{verb} {shown_path(self.out)}: {counted(self.files_out, 'file')} from {self.files_in:,}, "
            f"{self.records_out - self.marks:,} of {self.records_in:,} records, "
            f"{self.bytes_out:,} of {self.bytes_in:,} bytes"
        ]
        if self.marks:
            lines.append(f"  {counted(self.marks, 'record')} added to mark the start or end of sessions")
        if self.changed:
            lines.append(
                f"  {counted(self.changed, 'record')} changed, the others are byte for byte the same"
            )
        why = {
            "selection": "by tag or kind",
            "restarts": "replaced by a later session",
            "steps": "outside the step range",
            "thinned": "thinned",
        }
        for reason, count in self.dropped.items():
            lines.append(f"  {counted(count, 'value')} dropped: {why[reason]}")
        if self.gone_places:
            lines.append(
                f"  damage skipped: {counted(self.gone_places, 'place')}, {counted(self.gone_bytes, 'byte')}"
            )
            lines += [f"    {problem}" for problem in self.gone[:10]]
            if self.gone_places > 10:
                lines.append(f"    and {self.gone_places - 10:,} more")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(printable(line) for line in lines)
