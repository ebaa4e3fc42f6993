"""The event files are in another directory than this one.

What it does
    Where a path holds no event files, or does not exist, looks a few levels up, down and beside it.

Why it matters
    A writer with a relative log_dir writes below the directory that the process was started in. Notebooks, job
    schedulers and Hydra change it; `runs/runs/exp1` and `outputs/…/runs` are the usual results.

What to do
    Give TensorBoard and tbq the directory that is named here, or give the writer an absolute path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.look import Look, some
from tbq.doctor.nearby import near
from tbq.text import shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = Rule("TBQ102", "wrong-directory", "error")


def check(look: Look) -> Iterator[Finding]:
    found = near(look)
    if not found:
        return
    path = look.given[0]
    state = "does not exist" if look.errors else "holds no event files"
    yield RULE.finding(
        f"{state}, but there are event files in {some(found)}",
        path=path,
        hint=f"look there: tbq doctor {shell_word(found[0])}",
    )
