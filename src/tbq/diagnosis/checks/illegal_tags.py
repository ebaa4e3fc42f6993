"""A tag contains characters that break readers.

What it does
    Finds tags that are empty, are not UTF-8, or contain control characters.

Why it matters
    TensorBoard's Python loader fails on a tag that is not UTF-8 and drops the rest of the file; empty tags and
    control characters break its URLs and every CSV.

What to do
    Rename them in the code. In an existing log: `tbq rewrite LOGDIR -o NEW --rename`, or `--drop-tag`.
"""

from __future__ import annotations

import re

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey
from tbq.text import is_utf8

RULE = Rule("TBQ603", "illegal-tags", "warning")


_CONTROL = re.compile("[\x00-\x1f\x7f]")


def check(survey: Survey) -> Findings:
    codes, names = survey.tag_codes
    illegal = {
        code for code, name in enumerate(names)
        if not name or _CONTROL.search(name) or not is_utf8(name)
    }  # fmt: skip
    if not illegal:
        return
    kept = ~survey.is_kind("graphs", "run_metadata", "logs")
    for series, code in enumerate(codes.tolist()):
        if code in illegal and kept[series]:
            what = (
                "is empty" if not names[code] else "contains control characters or bytes that are not UTF-8"
            )
            yield RULE.finding(
                f"the tag {names[code]!r} {what}",
                run=survey.run_of(series),
                hint="rename it in the code; in an existing log, tbq rewrite can rename or drop it",
            )
