"""What went wrong while reading, as values: one `Problem` a finding, with where it is and what to do."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tbq.names import shown_path
from tbq.printable import counted, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq._core import Fault, FileReport
    from tbq.source import Run
    from tbq.source.growing import Growing


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was lost, dropped or changed; `severity` is "error", "warning" or "info"."""

    code: str
    severity: str
    message: str
    path: str | None = None
    offset: int | None = None
    run: str | None = None
    tag: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = ""
        if self.path is not None:
            path = shown_path(self.path)
            where = f"{path}: " if self.offset is None else f"{path} @ byte {self.offset}: "
        elif self.run is not None:
            where = f"run {self.run}: "
        return printable(f"{where}{self.message}" + (f" ({self.hint})" if self.hint else ""))


#: What to do about rows that a later session overtook. Messages and findings take it from here.
RESTART_HINT = "to keep them: restarts='keep', --restarts keep"

_FAULTS = {
    "bad_length": "a record's length does not agree with its checksum",
    "bad_payload": "a record's data does not agree with its checksum",
    "zeros": "zeros where a record should start",
    "torn": "a record that was cut off, with others behind it",
    "bad_event": "a sound record whose event cannot be decoded",
}


def of_file(report: FileReport, run: str, growing: Growing | None = None) -> list[Problem]:
    """The problems of one file, worst first; `growing` knows files that are still being written."""
    path = os.fsdecode(report.path)

    def problem(
        code: str, severity: str, message: str, hint: str | None = None, offset: int | None = None
    ) -> Problem:
        return Problem(code, severity, message, path=path, offset=offset, run=run, hint=hint)

    if report.state == "unreadable":
        return [problem("unreadable", "error", *why_unreadable(path, report.error))]
    if report.state == "git_lfs":
        return [problem("git_lfs", "error", "is a Git-LFS pointer, not the file itself", "run: git lfs pull")]
    if report.state == "not_events":
        return [problem("not_events", "warning", "is not an event file: it holds no record")]
    if report.state == "empty":
        return [problem("empty", "info", "is empty: its writer has not flushed anything yet")]
    found = [_of_fault(fault, path, run) for fault in report.faults]
    if report.more_faults:
        found.append(
            problem("more_faults", "error", f"{report.more_faults:,} more damaged places, not listed")
        )
    if report.error:
        found.append(problem("read_failed", "error", f"reading stopped: {os.strerror(report.error).lower()}"))
    if report.truncated:
        found.append(_of_tail(report, path, run, growing))
    return found


def _of_tail(report: FileReport, path: str, run: str, growing: Growing | None) -> Problem:
    """An unfinished record at the end: the state of a file that is being written, else a loss like any other."""
    from tbq.source.growing import Growing

    growing = growing or Growing()
    size = f"{report.truncated:,} bytes"
    if growing(path, report.bytes):
        severity, message = "info", f"ends in an unfinished record of {size}: it is still being written"
        hint = "the rest comes with the next flush"
    else:
        after = f" after step {report.last_step:,}" if report.values else ""
        severity, message = "error", f"ends in an unfinished record: {size} lost{after}"
        hint = (
            "its writer or a copy was stopped: copy it again, or leave the tail out with tbq rewrite --repair"
        )
    return Problem("truncated", severity, message, path=path, offset=report.resume, run=run, hint=hint)


def why_unreadable(path: str, error: int) -> tuple[str, str | None]:
    """Why a file could not be opened, given the number of the error, and what to do about it."""
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return ("is a link to nothing" if Path(path).is_symlink() else "was deleted while it was read"), None
    except OSError:
        mode = 0
    kinds = (
        (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"),
    )  # fmt: skip
    for is_kind, name in kinds:
        if is_kind(mode):
            return f"is a {name}, not a file", "copy what it gives to a file, and read that"
    hint = "see who may read it: ls -l; chmod a+r" if error in (errno.EACCES, errno.EPERM) else None
    return f"cannot be read: {os.strerror(error).lower()}", hint


def of_unpacking(
    failures: Mapping[bytes, str], reports: Iterable[FileReport], runs: Sequence[Run]
) -> list[Problem]:
    """The problems of compressed files that could not be unpacked to their end; `failures` are those of `Unpacked`."""
    return [
        Problem("unpacking", "error", failures[path], path=os.fsdecode(path), run=runs[report.run].name)
        for report in reports
        if (path := report.path) in failures
    ]


def _of_fault(fault: Fault, path: str, run: str) -> Problem:
    before, after = fault.step_before, fault.step_after
    if before is not None and after is not None:
        steps = f"between step {before:,} and step {after:,}"
    elif before is not None:
        steps = f"after step {before:,}"
    elif after is not None:
        steps = f"before step {after:,}"
    else:
        steps = "with no step on either side"
    return Problem(
        fault.code,
        "error",
        f"{_FAULTS[fault.code]}: {fault.length:,} bytes lost {steps}",
        path=path,
        offset=fault.offset,
        run=run,
    )


def brief(problems: Iterable[Problem]) -> list[str]:
    """One line a file (or run): its first problem, and how many more there are."""
    by_place: dict[tuple[str | None, str | None], list[Problem]] = {}
    for problem in problems:
        by_place.setdefault((problem.path, None if problem.path else problem.run), []).append(problem)
    lines = []
    for found in by_place.values():
        more = f" (and {counted(len(found) - 1, 'more problem')} there)" if len(found) > 1 else ""
        lines.append(f"{found[0]}{more}")
    return lines


def is_damage(problem: Problem) -> bool:
    """Whether data was lost or could not be read: what `strict` refuses."""
    return problem.severity in ("error", "warning")


def to_arrow(problems: Iterable[Problem]) -> pa.Table:
    """The `problems` table."""
    import pyarrow as pa

    from tbq.schema import schema

    wanted = schema("problems")
    rows = [{name: getattr(problem, name) for name in wanted.names} for problem in problems]
    for row in rows:
        row["path"] = None if row["path"] is None else shown_path(row["path"])
    return pa.Table.from_pylist(rows, schema=wanted)
