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

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = Rule("TBQ604", "hparams-runs", "info")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    hparams = look.is_kind("hparams")
    if hparams.sum() < 20:
        return
    names = {run.name for run in look.runs}
    run = look.series["run"]
    other = ~hparams & ~(look.is_kind("scalars") & (look.series["count"] == 1))
    plain = np.ones(len(look.runs), bool)
    plain[run[other]] = False
    subs = [look.runs[index].name for index in np.unique(run[hparams]).tolist() if plain[index]]
    parents = [name.rpartition("/")[0] or "." for name in subs if name != "."]
    found = [parent for parent in parents if parent in names]
    if len(found) >= 20:
        above = sorted(set(found))
        yield RULE.finding(
            f"add_hparams made {len(found):,} sub-runs, below {some(above)}",
            hint="tbq rewrite LOGDIR -o NEW --flatten-hparams folds them into the runs above, where each has one",
        )
