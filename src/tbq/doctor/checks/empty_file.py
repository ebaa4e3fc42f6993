"""An event file has no bytes.

What it does
    Finds event files of size zero.

Why it matters
    The writer made the file and wrote nothing: it was stopped in its first moments, the disk or quota was full, or
    a copy was broken off. TensorBoard shows nothing for it and says nothing. In a run whose other files hold data
    this is only information.

What to do
    Check the disk (`df -h`, `quota`) and the log of the process; copy the file again. It can be deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ105", "empty-file", "warning")


def check(look: Look) -> Iterator[Finding]:
    empty = look.state("empty")
    if not empty:
        return
    filled = set(look.files["run"][look.files["values"] > 0].tolist())
    for index in empty:
        yield RULE.finding(
            "has no bytes: its writer was stopped before it wrote, or the disk was full",
            run=look.run_of_file(index),
            path=look.paths[index],
            hint="check the disk and the log of the process; the file can be deleted",
            severity="info" if int(look.files["run"][index]) in filled else None,
        )
