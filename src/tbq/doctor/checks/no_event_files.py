"""There are no event files at this path, nor near it.

What it does
    Looks for files with `tfevents` in their name, in the directory and all below it, and then around it.

Why it matters
    TensorBoard shows "No dashboards are active" and gives no reason. Most often the writer was never made, its
    process died before it wrote, or it wrote somewhere else, because a relative path was resolved in another
    working directory.

What to do
    Print the absolute path where the writer is made: `print(os.path.abspath(writer.log_dir))`. Call
    `writer.close()`, or at least `writer.flush()`, at the end of training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.nearby import near

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ101", "no-event-files", "error")


def check(look: Look) -> Iterator[Finding]:
    if look.errors or look.clash or look.runs or near(look):
        return
    for path in look.found.paths:
        if look.found.problems:  # it may be in what could not be looked into
            continue
        what = (
            f"none of its {look.found.others:,} files is an event file"
            if look.found.others
            else "it is empty"
        )
        yield RULE.finding(
            f"no event files here: {what}",
            path=path,
            hint="print the absolute log_dir where the writer is made, and look there",
        )
