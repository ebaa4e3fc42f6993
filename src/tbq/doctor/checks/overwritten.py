"""Two writers wrote into the same file.

What it does
    Finds files in which steps go back across a damaged place: what lies behind it was written by another process.

Why it matters
    tensorboardX names its files by time and host alone, so that two writers that start in one second truncate
    each other's file and go on writing into it, each at its own place. The records under the other's are lost.

What to do
    Give each process a directory of its own, or a `filename_suffix`. `tbq rewrite LOGDIR -o NEW --repair` saves the
    records that are whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ303", "overwritten", "error")


def check(look: Look) -> Iterator[Finding]:
    for index, offset in look.overwritten.items():
        yield RULE.finding(
            "steps go back behind a damaged place: two writers wrote this file over each other",
            run=look.run_of_file(index),
            path=look.paths[index],
            offset=offset,
            hint="give each writer its own directory; save what is whole: tbq rewrite LOGDIR -o NEW --repair",
        )
