"""Tags of one run differ by case, spaces or a slash at the end alone.

What it does
    Finds tags of one run that are the same once case, spaces, `_` and slashes at either end are left aside.

Why it matters
    A metric is split over two names, most often because two places in the code spell it in their own way. Each
    shows half of it.

What to do
    `tbq rewrite LOGDIR -o NEW --rename "Loss=loss"` where they do not overlap; spell it once in the code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.text import shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ602", "tag-names", "warning")


def check(look: Look) -> Iterator[Finding]:
    codes, names = look.tag_codes
    keys = [name.casefold().strip().strip("/").replace(" ", "_") for name in names]
    if len(set(keys)) == len(names):
        return
    by_key: dict[str, set[int]] = {}
    for code, key in enumerate(keys):
        by_key.setdefault(key, set()).add(code)
    alike = {code: key for key, same in by_key.items() if len(same) > 1 for code in same}
    found: dict[tuple[int, str], set[str]] = {}
    for series, code in enumerate(codes.tolist()):
        if code in alike:
            found.setdefault((int(look.series["run"][series]), alike[code]), set()).add(names[code])
    for (run, _), same in found.items():
        if len(same) > 1:
            first, *others = sorted(same)
            pair = shell_word(f"{others[0]}={first}")
            yield RULE.finding(
                f"is spelled in more than one way: {', '.join(repr(one) for one in (first, *others))}",
                run=look.runs[run].name,
                tag=first,
                hint=f"tbq rewrite LOGDIR -o NEW --rename {pair}, where they do not overlap",
            )
