"""The doctor: why nothing shows up, what was lost, what each reader makes of a log, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tbq.diagnosis.finding import Finding
from tbq.diagnosis.report import Findings

if TYPE_CHECKING:
    from tbq.arguments import StrPath
    from tbq.limits import Size
    from tbq.progress import Progress
    from tbq.source.discover import Found, Source
    from tbq.source.inflate import Unpacked
    from tbq.storage import Storage
    from tbq.writers import Writers

__all__ = ["Finding", "Findings", "codes", "doctor", "explain", "findings_of_run"]


def doctor(
    path: Source,
    *,
    select: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    threads: int | None = None,
    progress: Progress | None = None,
    max_unpacked: Size | None = None,
    storage: Storage | None = None,
    cache: StrPath | None = None,
    source: Writers = None,
) -> Findings:
    """Examine a path, whether or not anything exists there, and list what is wrong: worst first, then by run.

    It changes nothing, and no file makes it fail. `select` and `ignore` take codes or prefixes of codes ("TBQ2");
    `max_unpacked`, `storage`, `cache` and `source` are as in `tbq.open`.

    >>> for finding in tbq.doctor("runs", select="TBQ5"):
    ...     print(finding.code, finding.severity, finding)
    TBQ501 warning run diverged: tag hparam/accuracy: is NaN; it was logged once
    TBQ501 warning run diverged: tag train/loss: is NaN from step 120 on, until the end
    TBQ501 warning run diverged: tag val/loss: is NaN from step 139 on, until the end

    Its `report()` is the text that `tbq doctor` prints.
    """
    from tbq.diagnosis.checks import chosen, examine
    from tbq.diagnosis.survey import Survey

    checks = chosen(select, ignore)
    survey = Survey(
        path, threads=threads, progress=progress, max_unpacked=max_unpacked, storage=storage, cache=cache,
        writers=source,
    )  # fmt: skip
    findings = examine(survey, checks)
    return Findings(sorted(findings, key=Finding.order))


def findings_of_run(found: Found, run: str, unpacked: Unpacked, threads: int | None = None) -> Findings:
    """The findings about one run of a log that is open, worst first."""
    from tbq.diagnosis.checks import all_checks, examine
    from tbq.diagnosis.survey import Survey

    checks = [check for check in all_checks() if check.is_of_runs]
    findings = examine(Survey.of_run(found, run, unpacked, threads), checks)
    return Findings(sorted(findings, key=Finding.order))


def explain(code: str) -> str:
    """Explain a finding: what the check does, why it matters, and what to do.

    >>> print(explain("TBQ104").splitlines()[0])
    TBQ104 header-only (warning)
    """
    from tbq.diagnosis.checks import by_code

    return by_code(code).explanation


def codes() -> dict[str, str]:
    """Every code with its title.

    >>> codes()["TBQ501"]
    'A metric is NaN or infinite.'
    """
    from tbq.diagnosis.checks import all_checks

    return {check.rule.code: check.title for check in all_checks()}
