"""A tag is logged at one and the same step again and again.

What it does
    Finds tags with 5 values or more whose steps never grow.

Why it matters
    `global_step` was forgotten: torch then writes step 0 each time. TensorBoard's default loader shows one point of
    all of them.

What to do
    Pass the step: `writer.add_scalar("loss", loss, step)`. In what is there the values are in order: read them with
    `restarts="keep"`, or look at them over wall_time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ404", "no-steps", "warning")


def check(look: Look) -> Iterator[Finding]:
    series = look.series
    stuck = (series["count"] >= 5) & (series["min_step"] == series["max_step"])
    stuck &= look.is_kind("scalars", "histograms", "images", "audio")
    for index in look.rows(stuck):
        yield RULE.finding(
            f"all {series['count'][index]:,} values are at step {series['min_step'][index]:,}: "
            "TensorBoard shows one of them; the step was not passed",
            run=look.run_of(index),
            tag=look.tags[index],
            hint='pass the step: writer.add_scalar("loss", loss, step)',
        )
