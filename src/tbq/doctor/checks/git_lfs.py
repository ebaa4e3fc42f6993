"""An event file is a Git-LFS pointer.

What it does
    Finds files that hold the text of a Git-LFS pointer instead of events.

Why it matters
    The repository was cloned without Git LFS, so that only the pointers came. Every reader takes them for damage.

What to do
    `git lfs install && git lfs pull`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ106", "git-lfs", "error")


def check(look: Look) -> Iterator[Finding]:
    for index in look.state("git_lfs"):
        yield RULE.finding(
            "is a Git-LFS pointer, not the file itself",
            run=look.run_of_file(index),
            path=look.paths[index],
            hint="git lfs install && git lfs pull",
        )
