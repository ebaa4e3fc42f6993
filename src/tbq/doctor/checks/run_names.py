"""Names of runs collide.

What it does
    Finds runs whose names differ by case alone, and paths given together that make two runs of one name.

Why it matters
    On macOS and Windows such runs are one directory: copied there, one overwrites the other. In TensorBoard's list
    they are hard to tell apart, and have colours of their own.

What to do
    Rename one: `tbq rewrite LOGDIR -o NEW --rename-run Exp1=exp1_old`. Name paths apart with `a:first b:second`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.look import Look, some
from tbq.text import shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = Rule("TBQ601", "run-names", "warning")


def check(look: Look) -> Iterator[Finding]:
    if look.clash is not None:
        yield RULE.finding(look.clash.message, hint=look.clash.hint)
    names = [run.name for run in look.runs]
    lower = {name.casefold() for name in names}
    if len(lower) == len(names):
        return
    by_name: dict[str, list[str]] = {}
    for name in names:
        by_name.setdefault(name.casefold(), []).append(name)
    for same in by_name.values():
        if len(same) > 1:
            yield RULE.finding(
                f"differs by case alone from {some(same[1:])}",
                run=same[0],
                hint=f"tbq rewrite LOGDIR -o NEW --rename-run {shell_word(same[1])}=NAME",
            )
