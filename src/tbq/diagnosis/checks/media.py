"""Images and other large values dwarf the scalars.

What it does
    Finds runs of 256 MiB or more in which scalars can be at most 2 % of the bytes.

Why it matters
    Readers that go through entire files, such as TensorBoard, spend their time on the media before they can show the
    curves. So do copies and backups.

What to do
    Log media less often, or to a separate run. `tbq rewrite LOGDIR -o NEW --drop-kind images` makes a small copy.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import MEDIA, Survey
from tbq.text import some

RULE = Rule("TBQ605", "media", "info")

_LARGE = 256 << 20


def check(survey: Survey) -> Findings:
    import numpy as np

    sizes = np.bincount(survey.files["run"], weights=survey.files["bytes"], minlength=len(survey.runs))
    if not (sizes >= _LARGE).any():
        return
    scalars, media = survey.is_kind("scalars"), survey.is_kind(*MEDIA)
    run, count = survey.series["run"], survey.series["count"]
    numbers = np.bincount(run[scalars], weights=count[scalars], minlength=len(survey.runs)) * 100
    others = np.bincount(run[media], minlength=len(survey.runs))
    for index in survey.rows((sizes >= _LARGE) & (numbers < 0.02 * sizes) & (numbers > 0) & (others > 0)):
        large = survey.rows(media & (run == index))
        kinds = sorted({survey.kind(series) for series in large})
        yield RULE.finding(
            f"is {sizes[index] / 2**20:,.0f} MiB, nearly all of it {some(kinds)}",
            run=survey.runs[index].name,
            hint=f"to make a small copy: tbq rewrite LOGDIR -o NEW --drop-kind {survey.kind(large[0])}",
        )
