"""A file ends inside a record, and nobody writes it any more.

What it does
    Finds files whose last record is not all there, with no sound record behind it, that have not changed for a
    while and that no process holds open for writing.

Why it matters
    The process was killed, its disk was full, or a copy was broken off. Everything before the last record is read
    by all readers; the unfinished record is lost, and so is what was still in the writer's queue.

What to do
    Copy the file again if it is a copy. To go on: `tbq rewrite LOGDIR -o NEW --repair` leaves the tail out. A writer
    that appends to such a file hides what it appends from every reader but tbq.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ202", "truncated", "warning")


def check(look: Look) -> Iterator[Finding]:
    for index in look.rows(look.unfinished):
        if look.being_written(index):
            continue
        report = look.reports[index]
        last = f", behind step {report.last_step:,}" if report.values else ""
        yield RULE.finding(
            f"ends in an unfinished record of {report.truncated:,} bytes{last}: its writer was stopped, or a copy was",
            run=look.run_of_file(index),
            path=look.paths[index],
            offset=report.resume,
            hint="copy it again, or leave the tail out: tbq rewrite LOGDIR -o NEW --repair",
        )
