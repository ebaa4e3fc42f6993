"""Images and other large values dwarf the scalars.

What it does
    Finds runs of 256 MiB or more in which less than 2 % of the bytes can be scalars.

Why it matters
    Every reader that goes through whole files, TensorBoard among them, spends its time on the media to get at the
    curves. Copies and backups do too.

What to do
    Log media less often, or to a run of their own. `tbq rewrite LOGDIR -o NEW --drop-kind images` makes a small copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.look import MEDIA, Look, some

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = Rule("TBQ605", "media", "info")

_LARGE = 256 << 20


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    sizes = np.bincount(look.files["run"], weights=look.files["bytes"], minlength=len(look.runs))
    if not (sizes >= _LARGE).any():
        return
    scalars, media = look.is_kind("scalars"), look.is_kind(*MEDIA)
    run, count = look.series["run"], look.series["count"]
    numbers = np.bincount(run[scalars], weights=count[scalars], minlength=len(look.runs)) * 100
    others = np.bincount(run[media], minlength=len(look.runs))
    for index in look.rows((sizes >= _LARGE) & (numbers < 0.02 * sizes) & (numbers > 0) & (others > 0)):
        mine = look.rows(media & (run == index))
        yield RULE.finding(
            f"is {sizes[index] / 2**20:,.0f} MiB, nearly all of it {some(sorted({look.kind(one) for one in mine}))}",
            run=look.runs[index].name,
            hint=f"a small copy: tbq rewrite LOGDIR -o NEW --drop-kind {look.kind(mine[0])}",
        )
