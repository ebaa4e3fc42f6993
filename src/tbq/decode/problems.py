"""What went wrong while reading: the problems of files, of unpacking and of restarts, and how to report them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tbq.arguments import choice
from tbq.decode.options import ON_ERROR
from tbq.errors import DamageError, SourceError, warn
from tbq.problems import RESTART_HINT, STRICT_HINT, SUB_RUNS_HINT, Problem, is_damage, notices
from tbq.source.discover import Run
from tbq.source.growing import Growing
from tbq.source.origin import origin, why_not_fetched
from tbq.text import counted

if TYPE_CHECKING:
    from tbq._core import Fault, FileReport, Result

#: A problem that users were warned of: its code, its run, and its file or tag.
Warned = tuple[str, str | None, str | None]

#: A description of each kind of damage.
FAULTS = {
    "bad_length": "a record's length does not match its checksum",
    "bad_payload": "a record's data does not match its checksum",
    "zeros": "zeros instead of the start of a record",
    "torn": "a record that was cut off, followed by others",
    "bad_event": "a valid record whose event cannot be decoded",
    "too_long": "a record longer than any event (2 GiB)",
}


def path_of(report: FileReport) -> str:
    """The name of a report's file for people: its path, or its URL."""
    return origin(os.fsdecode(report.path))


def of_file(report: FileReport, run: str, growing: Growing | None = None) -> list[Problem]:
    """The problems of one file, worst first; `growing` knows which files are still being written."""
    path = path_of(report)

    def problem(
        code: str, severity: str, message: str, hint: str | None = None, offset: int | None = None
    ) -> Problem:
        return Problem(code, severity, message, path=path, offset=offset, run=run, hint=hint)

    if report.state == "unreadable":
        return [problem("unreadable", "error", *why_unreadable(os.fsdecode(report.path), report.error))]
    if report.state == "git_lfs":
        return [problem("git_lfs", "error", "is a Git-LFS pointer, not the file itself", "run: git lfs pull")]
    if report.state == "not_events":
        return [problem("not_events", "warning", "is not an event file: it holds no record")]
    if report.state == "empty":
        return [problem("empty", "info", "is empty: its writer has not flushed anything yet")]
    problems = [_of_fault(fault, path, run) for fault in report.faults]
    if report.more_faults:
        problems.append(
            problem(
                "more_faults", "error", f"{counted(report.more_faults, 'more damaged place')}, not listed"
            )
        )
    if report.error:
        problems.append(
            problem("read_failed", "error", f"reading stopped: {os.strerror(report.error).lower()}")
        )
    if report.truncated:
        problems.append(_of_tail(report, path, run, growing))
    return problems


def _of_tail(report: FileReport, path: str, run: str, growing: Growing | None) -> Problem:
    """An unfinished record at the end: normal for a file that is being written, otherwise a loss."""
    growing = growing or Growing()
    size = f"{report.truncated:,} bytes"
    if growing(os.fsdecode(report.path), report.bytes):
        severity, message = "info", f"ends in an unfinished record of {size}: it is still being written"
        hint = "the rest follows with the next flush"
    else:
        after = f" after step {report.last_step:,}" if report.values else ""
        severity, message = "error", f"ends in an unfinished record: {size} lost{after}"
        hint = "its writer or a copy was stopped: copy it again, or remove the tail: tbq rewrite --repair"
    return Problem("truncated", severity, message, path=path, offset=report.resume, run=run, hint=hint)


def why_unreadable(path: str, error: int) -> tuple[str, str | None]:
    """Why a file could not be opened, by the number of the error, and what to do about it."""
    not_fetched = why_not_fetched(path)
    if not_fetched is not None:
        return not_fetched.message, not_fetched.hint
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if os.path.islink(path):
            return "is a broken link", "remove the link, or restore the file that it names"
        return "was deleted while it was read", "read the log again: the run may be gone"
    except OSError:
        mode = 0
    kinds = (
        (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"),
    )  # fmt: skip
    for is_kind, name in kinds:
        if is_kind(mode):
            return f"is a {name}, not a file", "copy its content to a file, and read that"
    if error in (errno.EACCES, errno.EPERM):
        hint = "check its permissions: ls -l; chmod a+r"
    else:
        hint = "check the disk or the network that it is on, and read it again"
    return f"cannot be read: {os.strerror(error).lower()}", hint


def of_unpacking(
    failures: Mapping[bytes, str], reports: Iterable[FileReport], runs: Sequence[Run]
) -> list[Problem]:
    """The problems of compressed files that could not be fully unpacked; `failures` are those of `Unpacked`."""
    return [
        Problem("unpacking", "error", failures[path], path=path_of(report), run=runs[report.run].name)
        for report in reports
        if (path := report.path) in failures
    ]


def of_logs(runs: Iterable[Run]) -> list[Problem]:
    """What was lost of logs of other trackers, and what else there is to say about them."""
    return [
        problem
        for run in runs
        if run.remote is not None
        for problem in run.remote.problems_of(run.files, run.name)
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
        f"{FAULTS[fault.code]}: {fault.length:,} bytes lost {steps}",
        path=path,
        offset=fault.offset,
        run=run,
    )


def problems_of(result: Result, runs: Sequence[Run], restarts: str, counted: bool = False) -> list[Problem]:
    """What went wrong in the files, and what the restart policy dropped; `counted` if no row was stored."""
    growing = Growing()
    problems = [
        problem for report in result.troubled() for problem in of_file(report, runs[report.run].name, growing)
    ]
    return problems + _of_series(result, runs, restarts, counted) + _of_names(result, runs)


def _of_names(result: Result, runs: Sequence[Run]) -> list[Problem]:
    """The tags that a run and its sub-run share."""
    return [
        Problem(
            "same_tag",
            "info",
            f"its sub-run has the tag {tag!r} too, which is called {name!r} here",
            run=runs[run].name,
            tag=name,
            hint=SUB_RUNS_HINT,
        )
        for run, tag, name in result.renamed()
    ]


def _of_series(result: Result, runs: Sequence[Run], restarts: str, counted_only: bool) -> list[Problem]:
    problems = []
    dropped: dict[int, list[tuple[int, int, int]]] = {}
    for run, tag, count, first, last, rounded, refused in result.notable():
        name = runs[run].name
        if count:
            dropped.setdefault(run, []).append((count, first, last))
        if rounded:
            problems.append(
                Problem(
                    "rounded",
                    "info",
                    f"{rounded:,} integers above 2^53 are rounded to float64",
                    run=name,
                    tag=tag,
                )
            )
        if refused:
            problems.append(
                Problem(
                    "not_scalar",
                    "info",  # neither damage nor loss: the values are in another table
                    f"{refused:,} values logged as scalars are not single numbers: see the tensors table",
                    run=name,
                    tag=tag,
                )
            )
    kept = _kept(result, runs, counted_only) if dropped else []
    for run, parts in dropped.items():
        count = sum(part[0] for part in parts)
        low, high = min(part[1] for part in parts), max(part[2] for part in parts)
        steps = f"step {low:,}" if low == high else f"steps {low:,} to {high:,}"
        problems.append(
            Problem(
                "restart",
                "info",
                f"restarts={restarts} dropped {_share(count, kept[run])} of {counted(len(parts), 'tag')}, {steps}",
                run=runs[run].name,
                hint=RESTART_HINT,
                count=count,
            )
        )
    return problems


def _kept(result: Result, runs: Sequence[Run], counted: bool) -> list[int]:
    """The number of rows of each run; if nothing is stored, the number counted."""
    from tbq.arrow import table_of, values_of

    series = table_of(result.series([str(index) for index in range(len(runs))]))
    kept = [0] * len(runs)
    for run, rows in zip(
        values_of(series["run"]), values_of(series["count" if counted else "rows"]), strict=True
    ):
        kept[int(run)] += rows
    return kept


def _share(dropped: int, kept: int) -> str:
    """A number of rows; if more than half of all were dropped, also the total.

    >>> _share(3, 17), _share(576, 30)
    ('3 rows', '576 of 606 rows (95 %)')
    """
    if dropped <= kept:
        return counted(dropped, "row")
    return f"{dropped:,} of {counted(dropped + kept, 'row')} ({100 * dropped / (dropped + kept):.0f} %)"


def tell(problems: Sequence[Problem], on_error: str, warned: set[Warned] | None = None) -> None:
    """Raise or warn as `on_error` says; an empty file, or one still being written, is not an error.

    `warned` remembers what a log has warned about, so that each of its tables does not say it again.
    """
    choice("on_error", on_error, ON_ERROR)
    if on_error == "ignore":
        return
    damage = [problem for problem in problems if is_damage(problem)]
    if on_error == "raise" and damage:
        first = damage[0]
        more = f" (and {counted(len(damage) - 1, 'more problem')})" if len(damage) > 1 else ""
        hint = f"{first.hint}; {STRICT_HINT}" if first.hint else STRICT_HINT
        raise DamageError(
            f"{first.message}{more}", path=first.path, offset=first.offset, hint=hint, code=first.code
        )
    reported = damage + [
        problem for problem in problems if problem.code in ("restart", "rounded", "not_scalar", "same_tag")
    ]
    if warned is not None:
        reported = [problem for problem in reported if _key(problem) not in warned]
        warned.update(map(_key, reported))
    for line in notices(reported):
        warn(line)


def _key(problem: Problem) -> Warned:
    """What makes a problem the same when another table is read: other rows may have been counted."""
    return (problem.code, problem.run, problem.path if is_damage(problem) else problem.tag)


def unreadable(
    result: Result, runs: Sequence[Run], unpacking: Mapping[bytes, str] = {}
) -> SourceError | None:
    """The error if no file could be read."""
    reports = result.troubled()
    if len(reports) < result.file_count or not reports:
        return None
    if not all(report.state in ("unreadable", "git_lfs", "not_events") for report in reports):
        return None
    problems = of_unpacking(unpacking, reports, runs)
    first = problems[0] if problems else of_file(reports[0], runs[reports[0].run].name)[0]
    others = f" (and {counted(len(reports) - 1, 'more file')} likewise)" if len(reports) > 1 else ""
    not_fetched = why_not_fetched(os.fsdecode(reports[0].path))
    code = not_fetched.code if not_fetched is not None else first.code
    return SourceError(first.message + others, path=first.path, hint=first.hint, code=code)
