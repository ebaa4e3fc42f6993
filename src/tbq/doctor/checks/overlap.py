"""Two writers logged the same tags into one directory at the same time.

What it does
    Finds tags of a run that two sessions logged while the other was still at work.

Why it matters
    Several processes (all ranks of a distributed job, two jobs with one log_dir) share a run. TensorBoard draws one
    line through the points of both, back and forth; its default loader drops about half of them. tbq keeps all.

What to do
    Give each process a directory of its own (`runs/exp1/rank0`), or log from rank 0 alone. What is there can be
    taken apart file by file: each writer has its own file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.look import Look, some
from tbq.doctor.readers import told

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = Rule("TBQ301", "overlap", "warning")


def check(look: Look) -> Iterator[Finding]:
    by_run: dict[int, list[int]] = {}
    scalars = look.is_kind("scalars")
    for series in sorted(look.overlapping):
        by_run.setdefault(int(look.series["run"][series]), []).append(series)
    for run, together in by_run.items():
        numbers = [one for one in together if scalars[one]]
        effect = f": {told(look, *numbers)}" if numbers else ""
        yield RULE.finding(
            f"two writers at once logged {some([look.tags[one] for one in together])}{effect}",
            run=look.runs[run].name,
            hint="give each process its own directory, or log from one of them",
        )
