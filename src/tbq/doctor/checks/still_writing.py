"""A file ends inside a record, and is being written.

What it does
    Finds files whose last record is not all there, and that changed within the last minutes or are held open for
    writing by a process (where the system tells).

Why it matters
    This is how a log looks while its run goes on. The rest of the record comes with the next flush.

What to do
    Nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ201", "still-writing", "info")


def check(look: Look) -> Iterator[Finding]:
    for index in look.rows(look.unfinished):
        if look.being_written(index):
            yield RULE.finding(
                f"ends in an unfinished record of {look.files['truncated'][index]:,} bytes, and is being written",
                run=look.run_of_file(index),
                path=look.paths[index],
                offset=int(look.files["resume"][index]),
                hint="nothing to do: the rest comes with the next flush",
            )
