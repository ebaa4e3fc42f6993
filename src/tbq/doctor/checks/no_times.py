"""Events have no wall_time.

What it does
    Finds files with values in which no event has a time.

Why it matters
    Some writers of other languages leave it at 0. The relative and wall axes of TensorBoard are useless then, and the
    order of a run's files is known by their names alone.

What to do
    Compare by step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ704", "no-times", "info")


def check(look: Look) -> Iterator[Finding]:
    for index in look.rows((look.files["timed"] == 0) & (look.files["values"] > 0)):
        yield RULE.finding(
            "no event in it has a wall_time",
            run=look.run_of_file(index),
            path=look.paths[index],
            hint="compare by step",
        )
