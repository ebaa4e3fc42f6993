"""The doctor: why nothing shows up, what was lost, what each reader will make of a log, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tbq.limits import Size
    from tbq.progress import Progress
    from tbq.source.discover import Source

__all__ = ["Finding", "codes", "doctor", "explain"]


def doctor(
    path: Source,
    *,
    select: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    threads: int | None = None,
    progress: Progress | None = None,
    max_unpacked: Size | None = None,
) -> list[Finding]:
    """Examine a path, whether or not anything is there, and say what was found: the worst first, run by run.

    Nothing is changed, and no file makes this fail. `select` and `ignore` take codes or how they begin ("TBQ2");
    `max_unpacked` is as in `tbq.open`.

    >>> for finding in doctor("runs"):                          # doctest: +SKIP
    ...     print(finding.code, finding.severity, finding)
    """
    from tbq.doctor.checks import chosen
    from tbq.doctor.look import Look

    checks = chosen(select, ignore)
    look = Look(path, threads=threads, progress=progress, max_unpacked=max_unpacked)
    found = [finding for check in checks for finding in check.run(look)]
    return sorted(found, key=Finding.order)


def explain(code: str) -> str:
    """What a check does, why it matters, and what to do.

    >>> print(explain("TBQ104").splitlines()[0])
    TBQ104 header-only (warning)
    """
    from tbq.doctor.checks import by_code

    return by_code(code).explanation


def codes() -> dict[str, str]:
    """Every code, with one line on it."""
    from tbq.doctor.checks import all_checks

    return {check.rule.code: check.title for check in all_checks()}
