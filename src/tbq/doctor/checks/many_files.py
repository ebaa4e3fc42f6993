"""A run is made of many tiny files.

What it does
    Finds runs of 20 files or more that hold 10 records or less each, most of them.

Why it matters
    A writer is made anew for each step or epoch, and often not closed. TensorBoard opens all of them, slowly, and
    reads them in order of name, in which `.10` comes before `.2`: its default loader then drops points.

What to do
    Make the writer once, outside of the loop. `tbq rewrite LOGDIR -o NEW` merges what is there, in order of time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ302", "many-files", "warning")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    files = look.files
    counts = np.bincount(files["run"], minlength=len(look.runs))
    small = np.bincount(files["run"][files["records"] <= 10], minlength=len(look.runs))
    for run in look.rows((counts >= 20) & (small * 2 > counts)):
        yield RULE.finding(
            f"is made of {counts[run]:,} files, {small[run]:,} of them with 10 records or less: "
            "a writer was opened again and again",
            run=look.runs[run].name,
            hint="make the writer once; merge what is there: tbq rewrite LOGDIR -o NEW",
        )
