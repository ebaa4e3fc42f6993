"""Integers are too large for float64.

What it does
    Finds int64 and uint64 scalars past 2^53.

Why it matters
    Tables of scalars hold float64, as TensorBoard does: such values are rounded there.

What to do
    The exact values are in the tensors table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ507", "rounded", "info")


def check(look: Look) -> Iterator[Finding]:
    for series in look.rows((look.series["rounded"] > 0) & look.is_kind("scalars")):
        yield RULE.finding(
            f"{look.series['rounded'][series]:,} integers past 2^53 are rounded",
            run=look.run_of(series),
            tag=look.tags[series],
            hint="the exact values are in the tensors table",
        )
