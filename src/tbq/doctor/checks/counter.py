"""A counter is too large for float32.

What it does
    Finds tags of whole numbers that only grow and that pass 16,777,216 while they are stored as float32.

Why it matters
    From 2^24 on float32 holds only each second whole number, then each fourth: counted samples or tokens are
    rounded.

What to do
    Log millions instead of ones, or use a float64 or int64 tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ504", "counter", "info")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    which, starts = look.scalar_series
    if len(which) == 0:
        return
    values = look.scalars["value"]
    largest = np.maximum.reduceat(values, starts[:-1])
    narrow = look.is_dtype("", "float32")[which]
    for place in look.rows(narrow & np.isfinite(largest) & (largest > 2**24) & (np.diff(starts) >= 3)):
        mine = values[starts[place] : starts[place + 1]]
        if largest[place] < 1e30 and (mine == np.floor(mine)).all() and (np.diff(mine) > 0).all():
            series = int(which[place])
            first = int(look.scalars["step"][starts[place] + int((mine > 2**24).argmax())])
            yield RULE.finding(
                f"counts past 16,777,216 from step {first:,} on, where float32 rounds whole numbers",
                run=look.run_of(series),
                tag=look.tags[series],
                hint="log it in thousands or millions",
            )
