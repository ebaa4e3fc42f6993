"""The files of a run are not in order of time when sorted by name.

What it does
    Finds tags whose files, sorted by name, were not written one after the other.

Why it matters
    TensorBoard reads the files of a run in order of name. If that is not the order of time (`….10` before `….2`,
    hosts whose clocks differ, renamed files), lines go back and forth, and its default loader drops points.
    tbq orders sessions by their wall times.

What to do
    `tbq rewrite LOGDIR -o NEW` merges the files in the right order; TensorBoard then shows all points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.diagnosis.finding import Finding, Rule
from tbq.diagnosis.readers import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ305", "name-order", "warning")


def check(survey: Survey) -> Iterator[Finding]:
    by_run: dict[int, list[int]] = {}
    scalars = survey.is_kind("scalars")
    for series in sorted(survey.misordered):
        by_run.setdefault(int(survey.series["run"][series]), []).append(series)
    for run, together in by_run.items():
        numbers = [series for series in together if scalars[series]]
        effect = f": {describe(survey, *numbers)}" if numbers else ""
        yield RULE.finding(
            f"files sorted by name are not in order of time{effect}",
            run=survey.runs[run].name,
            hint="tbq rewrite LOGDIR -o NEW merges them in order of time",
        )
