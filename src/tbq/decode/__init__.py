"""From runs to columns: one call of the core, with selections compiled and problems collected."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tbq import problems as _problems
from tbq.arguments import choice, whole
from tbq.errors import DamageError, SourceError, TbqWarning
from tbq.printable import counted
from tbq.progress import Progress, reporting
from tbq.select import MAX_STEP, MIN_STEP, Selection
from tbq.source.discover import Run, files_of
from tbq.source.growing import Growing

if TYPE_CHECKING:
    from tbq._core import Result
    from tbq.problems import Problem

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
        choice("restarts", self.restarts, RESTARTS)
        if self.threads is not None:
            object.__setattr__(self, "threads", whole("threads", self.threads, least=1))


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
    with reporting(options.progress) as progress:
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
            progress,
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
    kept = _kept(result, runs) if dropped else []
    for run, parts in dropped.items():
        count = sum(part[0] for part in parts)
        low, high = min(part[1] for part in parts), max(part[2] for part in parts)
        steps = f"step {low:,}" if low == high else f"steps {low:,} to {high:,}"
        found.append(
            _problems.Problem(
                "restart",
                "info",
                f"restarts={restarts} dropped {_share(count, kept[run])} of {counted(len(parts), 'tag')}, {steps}",
                run=runs[run].name,
                hint=_problems.RESTART_HINT,
            )
        )
    return found


def _kept(result: Result, runs: Sequence[Run]) -> list[int]:
    """How many rows of each run there are."""
    import pyarrow as pa

    table = pa.table(result.series([run.name for run in runs]))
    kept = [0] * len(runs)
    column = (
        "rows" if any(table["rows"].to_pylist()) else "count"
    )  # nothing is stored where rows are only counted
    for run, rows in zip(
        table["run"].combine_chunks().indices.to_pylist(), table[column].to_pylist(), strict=True
    ):
        kept[run] += rows
    return kept


def _share(dropped: int, kept: int) -> str:
    """So many rows; if they are more than half of all, out of how many.

    >>> _share(3, 17), _share(576, 30)
    ('3 rows', '576 of 606 rows (95 %)')
    """
    if dropped <= kept:
        return counted(dropped, "row")
    return f"{dropped:,} of {counted(dropped + kept, 'row')} ({100 * dropped / (dropped + kept):.0f} %)"


def tell(found: Sequence[Problem], on_error: str) -> None:
    """Raise or warn as `on_error` says; an empty file, and one that is still being written, are no errors."""
    choice("on_error", on_error, ON_ERROR)
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


def refuse_unreadable(result: Result, runs: Sequence[Run], unpacking: Mapping[bytes, str] = {}) -> None:
    """Raise where not one file could be read; `unpacking` says of which because they could not be unpacked."""
    failure = unreadable(result, runs, unpacking)
    if failure is not None:
        raise failure


def unreadable(
    result: Result, runs: Sequence[Run], unpacking: Mapping[bytes, str] = {}
) -> SourceError | None:
    """The error where not one file could be read."""
    reports = result.troubled()
    if len(reports) < result.file_count or not reports:
        return None
    if not all(report.state in ("unreadable", "git_lfs", "not_events") for report in reports):
        return None
    found = _problems.of_unpacking(unpacking, reports, runs)
    first = found[0] if found else _problems.of_file(reports[0], runs[reports[0].run].name)[0]
    others = f" (and so for {len(reports) - 1:,} more files)" if len(reports) > 1 else ""
    return SourceError(first.message + others, path=first.path, hint=first.hint, code=first.code)
