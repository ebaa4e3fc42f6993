"""The doctor: why nothing shows up, what was lost, what each reader makes of a log, and what to do."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

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
    """Examine a path, whether or not anything is there, and return what is wrong: worst first, then by run.

    It changes nothing, and no file makes it fail. `select` and `ignore` take codes or prefixes of codes ("TBQ2");
    `max_unpacked` is as in `tbq.open`.

    >>> for finding in tbq.doctor("runs", select="TBQ5"):
    ...     print(finding.code, finding.severity, finding)
    TBQ501 warning run diverged: tag hparam/accuracy: is NaN from step 200 on, until the end
    TBQ501 warning run diverged: tag train/loss: is NaN from step 120 on, until the end
    TBQ501 warning run diverged: tag val/loss: is NaN from step 139 on, until the end
    """
    from tbq.doctor.checks import chosen
    from tbq.doctor.survey import Survey

    checks = chosen(select, ignore)
    survey = Survey(path, threads=threads, progress=progress, max_unpacked=max_unpacked)
    return sorted((finding for check in checks for finding in check.run(survey)), key=Finding.order)


def explain(code: str) -> str:
    """Explain a finding: what the check does, why it matters, and what to do.

    >>> print(explain("TBQ104").splitlines()[0])
    TBQ104 header-only (warning)
    """
    from tbq.doctor.checks import by_code

    return by_code(code).explanation


def codes() -> dict[str, str]:
    """Every code with its title.

    >>> codes()["TBQ501"]
    'A metric is NaN or infinite.'
    """
    from tbq.doctor.checks import all_checks

    return {check.rule.code: check.title for check in all_checks()}


class _Callable(types.ModuleType):
    """`tbq.doctor` is the function, also once this package of the same name has been imported."""

    def __call__(self, *args: Any, **kwargs: Any) -> list[Finding]:
        return doctor(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
