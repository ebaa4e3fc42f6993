"""A file is called like an event file, but holds no event.

What it does
    Finds files with `tfevents` in their name in which not one sound record can be found.

Why it matters
    TensorBoard takes them by their name, fails on them, and says so only in its log. Seen: notes and `.meta` files
    that other tools put beside, downloads that are an HTML page, files that were encrypted or overwritten.

What to do
    Fetch the file again from where it was made, or rename it so that `tfevents` is not in its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ107", "not-events", "warning")


def check(look: Look) -> Iterator[Finding]:
    for index in look.state("not_events"):
        yield RULE.finding(
            f"is not an event file: there is no record in its {look.files['bytes'][index]:,} bytes",
            run=look.run_of_file(index),
            path=look.paths[index],
            hint="fetch it again from where it was made, or rename it",
        )
