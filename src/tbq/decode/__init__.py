"""From runs to columns: one call of the core, with selections compiled and problems collected."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tbq import problems as _problems
from tbq.errors import DamageError, SourceError, TbqWarning, UsageError
from tbq.printable import counted
from tbq.select import MAX_STEP, MIN_STEP, Selection
from tbq.source.discover import Run, files_of
from tbq.source.growing import Growing

if TYPE_CHECKING:
    from tbq._core import Result
    from tbq.problems import Problem

#: `progress(bytes_done, bytes_total, files_done, files_total)`
Progress = Callable[[int, int, int, int], object]

RESTARTS = ("resume", "keep", "last", "tensorboard")
ON_ERROR = ("warn", "raise", "ignore")
EVERYTHING = Selection(None)
BLOCK = 256 * 1024
SPLIT = 16 * 1024 * 1024


@dataclass(frozen=True)
class Options:
    """How to decode; the same for every table."""

    tag: Selection = EVERYTHING
    steps: tuple[int, int] = (MIN_STEP, MAX_STEP)
    restarts: str = "resume"
    threads: int | None = None
    progress: Progress | None = None
    columns: Sequence[str] | None = None  # of scalars that are wanted, None for all
    defer: bool = False
    block: int = BLOCK
    split: int = SPLIT
    general_only: bool = False  # take no short way, so that tests can compare both

    def __post_init__(self) -> None:
        check("restarts", self.restarts, RESTARTS)
        if self.threads is not None and (isinstance(self.threads, bool) or self.threads < 1):
            raise UsageError(f"threads={self.threads!r} is no number of threads, want 1 or more")


def check(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise where an option has none of its values."""
    if value not in allowed:
        raise UsageError(f"{name}={value!r} is unknown, want one of: {', '.join(allowed)}")


def cpu_count() -> int:
    """How many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def decode(
    runs: Sequence[Run],
    kinds: Sequence[str],
    options: Options,
    inflate: Callable[[bytes], bytes | None],
    details: bool = False,
    verify: bool = False,
    count: bool = False,
) -> Result:
    """Decode the files of these runs and store the rows of `kinds`.

    With `details` the sessions, and what each of them logged of each series, are reported too. With `verify` every
    record is checked, also large ones of which nothing is stored. With `count` nothing is stored: each series
    reports the rows that the restart policy keeps.
    """
    from tbq import _core

    paths, indices = files_of(runs)
    select = None if options.tag.everything else options.tag.matches
    first, last = options.steps
    return _core.decode(
        paths,
        indices,
        list(kinds),
        select,
        first,
        last,
        options.restarts,
        min(options.threads or cpu_count(), 64),
        options.block,
        options.split,
        options.defer,
        options.progress,
        inflate,
        details,
        verify,
        count,
        options.general_only,
        options.columns,
    )


def problems_of(result: Result, runs: Sequence[Run], restarts: str) -> list[Problem]:
    """What went wrong in the files, and what the restart policy dropped."""
    growing = Growing()
    found = [
        problem
        for report in result.troubled()
        for problem in _problems.of_file(report, runs[report.run].name, growing)
    ]
    return found + _of_series(result, runs, restarts)


def _of_series(result: Result, runs: Sequence[Run], restarts: str) -> list[Problem]:
    found = []
    dropped: dict[int, list[tuple[int, int, int]]] = {}
    for run, tag, count, first, last, rounded, refused in result.notable():
        name = runs[run].name
        if count:
            dropped.setdefault(run, []).append((count, first, last))
        if rounded:
            found.append(
                _problems.Problem(
                    "rounded",
                    "info",
                    f"{rounded:,} integers past 2^53 are rounded to float64",
                    run=name,
                    tag=tag,
                )
            )
        if refused:
            found.append(
                _problems.Problem(
                    "not_scalar",
                    "warning",
                    f"{refused:,} values logged as scalars are no single number: see the tensors table",
                    run=name,
                    tag=tag,
                )
            )
    for run, parts in dropped.items():
        count = sum(part[0] for part in parts)
        low, high = min(part[1] for part in parts), max(part[2] for part in parts)
        steps = f"step {low:,}" if low == high else f"steps {low:,} to {high:,}"
        found.append(
            _problems.Problem(
                "restart",
                "info",
                f"restarts={restarts} dropped {counted(count, 'row')} of {counted(len(parts), 'tag')}, {steps}",
                run=runs[run].name,
                hint="to keep them: restarts='keep', --restarts keep",
            )
        )
    return found


def tell(found: Sequence[Problem], on_error: str) -> None:
    """Raise or warn as `on_error` says; an empty file, and one that is still being written, are no errors."""
    check("on_error", on_error, ON_ERROR)
    if on_error == "ignore":
        return
    damage = [problem for problem in found if _problems.is_damage(problem)]
    if on_error == "raise" and damage:
        first = damage[0]
        raise DamageError(
            first.message, path=first.path, offset=first.offset, hint=first.hint, code=first.code
        )
    told = damage + [problem for problem in found if problem.code in ("restart", "rounded")]
    for line in _problems.brief(told):
        warnings.warn(line, TbqWarning, stacklevel=4)


def refuse_unreadable(result: Result, runs: Sequence[Run]) -> None:
    """Raise where not one file could be read."""
    failure = unreadable(result, runs)
    if failure is not None:
        raise failure


def unreadable(result: Result, runs: Sequence[Run]) -> SourceError | None:
    """The error where not one file could be read."""
    reports = result.troubled()
    if len(reports) < result.file_count or not reports:
        return None
    if not all(report.state in ("unreadable", "git_lfs", "not_events") for report in reports):
        return None
    first = _problems.of_file(reports[0], runs[reports[0].run].name)[0]
    others = f" (and so for {len(reports) - 1:,} more files)" if len(reports) > 1 else ""
    return SourceError(first.message + others, path=first.path, hint=first.hint, code=first.code)
