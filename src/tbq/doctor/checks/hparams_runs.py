"""add_hparams has made many sub-runs.

What it does
    Counts runs below another one that hold hparams and each metric once, as `add_hparams` writes them.

Why it matters
    torch and tensorboardX make a new sub-run, named by the time, for each call of `add_hparams`. From 20 on they
    bury the real runs in TensorBoard's list, and each is a directory to scan again and again.

What to do
    Call it once a run, or pass `run_name="."`. Where each run has one: `tbq rewrite LOGDIR -o NEW --flatten-hparams`
    folds them into the runs above.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.look import Look, some
from tbq.doctor.sub_runs import of_add_hparams

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = Rule("TBQ604", "hparams-runs", "info")


def check(look: Look) -> Iterator[Finding]:
    made = of_add_hparams(look)
    count = sum(map(len, made.values()))
    if count >= 20:
        yield RULE.finding(
            f"add_hparams made {count:,} sub-runs, below {some(sorted(made))}",
            hint="tbq rewrite LOGDIR -o NEW --flatten-hparams folds them into the runs above, where each has one",
        )
