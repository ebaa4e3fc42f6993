"""Values logged as scalars are not one number each.

What it does
    Finds tags of the scalars plugin whose tensors hold no number, or several.

Why it matters
    TensorBoard's Python loader fails on the whole tag, its default loader shows nothing of it. tbq has them in the
    tensors table.

What to do
    Reduce to one number before logging (`.mean()`), or log a histogram or a tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ505", "not-scalar", "warning")


def check(look: Look) -> Iterator[Finding]:
    for series in look.rows((look.series["refused"] > 0) & look.is_kind("tensors")):
        yield RULE.finding(
            f"{look.series['refused'][series]:,} values logged as scalars are not one number each: "
            "TensorBoard does not show them",
            run=look.run_of(series),
            tag=look.tags[series],
            hint="reduce to one number before logging; tbq has them in the tensors table",
        )
