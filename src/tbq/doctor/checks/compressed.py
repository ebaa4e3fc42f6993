"""An event file is compressed as a whole.

What it does
    Finds event files that are gzip or zlib streams.

Why it matters
    tbq reads them, TensorBoard does not: it reports a broken file in its log and shows nothing.

What to do
    `tbq rewrite LOGDIR -o NEW` writes them unpacked, or use gunzip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ109", "compressed", "warning")


def check(look: Look) -> Iterator[Finding]:
    for index in look.rows(look.files["compressed"] > 0):
        yield RULE.finding(
            "is compressed: tbq reads it, TensorBoard does not",
            run=look.run_of_file(index),
            path=look.paths[index],
            hint="tbq rewrite LOGDIR -o NEW writes it unpacked",
        )
