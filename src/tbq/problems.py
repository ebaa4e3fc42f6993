"""What went wrong while reading, as values: one `Problem` per finding, with its place and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tbq.text import counted, printable, shown_path

if TYPE_CHECKING:
    from arro3.core import Table


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was lost, dropped or changed; `severity` is "error", "warning" or "info".

    >>> print(tbq.Problem("skipped", "warning", "4 bytes skipped", path="events.1", offset=12))
    events.1 @ byte 12: 4 bytes skipped
    """

    code: str
    severity: str
    message: str
    path: str | None = None
    offset: int | None = None
    run: str | None = None
    tag: str | None = None
    hint: str | None = None
    count: int | None = field(default=None, compare=False)  # of rows that it is about, if that is known

    def __str__(self) -> str:
        where = ""
        if self.path is not None:
            path = shown_path(self.path)
            where = f"{path}: " if self.offset is None else f"{path} @ byte {self.offset}: "
        elif self.run is not None:
            where = f"run {self.run}: "
        return printable(f"{where}{self.message}" + (f" ({self.hint})" if self.hint else ""))


#: What to do about rows that a later session overtook, for messages and findings.
RESTART_HINT = "to keep them: restarts='keep', --restarts keep"
#: The same for a lake, which does not have these rows.
LAKE_RESTART_HINT = "the lake does not have them, the event files do"

#: How to see the sub-runs of `add_hparams` as runs.
SUB_RUNS_HINT = "to keep sub-runs apart: sub_runs='keep', --sub-runs keep"


_MOST_LINES = 5  # about damaged files

#: What to do about damage that strict reading refuses.
STRICT_HINT = (
    "omit --strict (on_error='warn') to read everything else; tbq doctor lists what was lost, "
    "tbq rewrite --repair writes files without the damage"
)


def brief(problems: Iterable[Problem]) -> list[str]:
    """One line per file (or run): its first problem, and the number of further problems."""
    by_place: dict[tuple[str | None, str | None], list[Problem]] = {}
    for problem in problems:
        by_place.setdefault((problem.path, None if problem.path else problem.run), []).append(problem)
    lines = []
    for of_place in by_place.values():
        more = f" (and {counted(len(of_place) - 1, 'more problem')} there)" if len(of_place) > 1 else ""
        lines.append(f"{of_place[0]}{more}")
    return lines


def notices(problems: Iterable[Problem]) -> list[str]:
    """What to tell a person: damage as one line per file, everything else as one line per kind.

    >>> runs = [Problem("restart", "info", "dropped", run=name, count=39) for name in ("a", "b")]
    >>> print(notices(runs)[0])
    2 runs resumed: 78 rows dropped; --restarts keep (restarts='keep') shows them, tbq doctor lists them
    """
    damage = []
    kinds: dict[str, list[Problem]] = {}
    for problem in problems:
        if is_damage(problem):
            damage.append(problem)
        else:
            kinds.setdefault(problem.code, []).append(problem)
    lines = brief(damage)
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES - 1 :] = [
            f"{len(lines) - _MOST_LINES + 1:,} more damaged files: tbq doctor lists them"
        ]
    return lines + [_of_kind(alike) for alike in kinds.values()]


def _of_kind(alike: list[Problem]) -> str:
    """One line for all problems of a kind that is not damage."""
    first, runs = alike[0], len({problem.run for problem in alike})
    if len(alike) == 1:
        return str(first)
    if first.code == "restart":
        rows = sum(problem.count or 0 for problem in alike)
        dropped = counted(rows, "row") if rows else "rows"
        shows = "--restarts keep (restarts='keep') shows them, tbq doctor lists them"
        if first.hint == LAKE_RESTART_HINT:
            shows = first.hint
        return f"{counted(runs, 'run')} resumed: {dropped} dropped; {shows}"
    if first.code == "same_tag":
        names = sorted({str(problem.tag) for problem in alike})
        listed = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        what = f"{counted(runs, 'run')} and their sub-runs have {counted(len(names), 'tag')} in common"
        return printable(f"{what}: the sub-runs' values are called {listed} ({SUB_RUNS_HINT})")
    return f"{first}, and {len(alike) - 1:,} more in {counted(runs, 'run')}: log.problems lists them"


def is_damage(problem: Problem) -> bool:
    """Whether data was lost or could not be read: `strict` refuses this."""
    return problem.severity in ("error", "warning")


def table_of_problems(problems: Iterable[Problem]) -> Table:
    """The `problems` table."""
    from tbq.arrow import made
    from tbq.schema import columns_of

    listed = list(problems)
    columns = {name: [getattr(problem, name) for problem in listed] for name, _ in columns_of("problems")}
    columns["path"] = [None if path is None else shown_path(path) for path in columns["path"]]
    return made("problems", columns)
