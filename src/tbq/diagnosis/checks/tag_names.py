"""Tags of a run differ only in case, spaces or a slash at the end.

What it does
    Finds tags of a run that are the same if case, spaces, `_` and slashes at either end are ignored.

Why it matters
    A metric is split over two names, usually because two places in the code spell it differently. Each shows half
    of it.

What to do
    `tbq rewrite LOGDIR -o NEW --rename "Loss=loss"` if they do not overlap; use one spelling in the code.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey
from tbq.text import shell_word

RULE = Rule("TBQ602", "tag-names", "warning")


def check(survey: Survey) -> Findings:
    codes, names = survey.tag_codes
    keys = [name.casefold().strip().strip("/").replace(" ", "_") for name in names]
    if len(set(keys)) == len(names):
        return
    by_key: dict[str, set[int]] = {}
    for code, key in enumerate(keys):
        by_key.setdefault(key, set()).add(code)
    alike = {code: key for key, same in by_key.items() if len(same) > 1 for code in same}
    spellings: dict[tuple[int, str], set[str]] = {}
    for series, code in enumerate(codes.tolist()):
        if code in alike:
            spellings.setdefault((int(survey.series["run"][series]), alike[code]), set()).add(names[code])
    for (run, _), same in spellings.items():
        if len(same) > 1:
            first, *others = sorted(same)
            pair = shell_word(f"{others[0]}={first}")
            yield RULE.finding(
                f"is spelled in several ways: {', '.join(map(repr, (first, *others)))}",
                run=survey.runs[run].name,
                tag=first,
                hint=f"tbq rewrite LOGDIR -o NEW --rename {pair}, if they do not overlap",
            )
