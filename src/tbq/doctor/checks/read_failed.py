"""Reading a file stopped with an error of the system.

What it does
    Reports files that could be opened but not read to their end.

Why it matters
    A failing disk, or a network file system that went away. What lies behind is unknown.

What to do
    Look at the system's log (`dmesg`), and copy the file while that is still possible.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ208", "read-failed", "error")


def check(look: Look) -> Iterator[Finding]:
    for index in look.rows((look.files["error"] != 0) & (look.files["state"] == 0)):
        report = look.reports[index]
        yield RULE.finding(
            f"reading stopped: {os.strerror(report.error).lower()}",
            run=look.run_of_file(index),
            path=look.paths[index],
            offset=report.resume,
            hint="look at the system's log (dmesg), and copy the file while you can",
        )
