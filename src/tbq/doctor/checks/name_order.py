"""The order of a run's files by name is not their order in time.

What it does
    Finds tags whose files, in the order of their names, were not written one after the other.

Why it matters
    TensorBoard reads the files of a run in order of name. Where that is not the order of time (`….10` before `….2`,
    hosts with other clocks, renamed files), lines go back and forth, and its default loader drops points for good.
    tbq orders sessions by the time in them.

What to do
    `tbq rewrite LOGDIR -o NEW` merges the files in the right order; TensorBoard then shows all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.readers import told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ305", "name-order", "warning")


def check(look: Look) -> Iterator[Finding]:
    by_run: dict[int, list[int]] = {}
    scalars = look.is_kind("scalars")
    for series in sorted(look.misordered):
        by_run.setdefault(int(look.series["run"][series]), []).append(series)
    for run, together in by_run.items():
        numbers = [one for one in together if scalars[one]]
        effect = f": {told(look, *numbers)}" if numbers else ""
        yield RULE.finding(
            f"files in order of name are not in order of time{effect}",
            run=look.runs[run].name,
            hint="tbq rewrite LOGDIR -o NEW merges them in order of time",
        )
