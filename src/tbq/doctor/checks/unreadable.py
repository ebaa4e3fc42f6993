"""A file or directory cannot be read.

What it does
    Reports what the system refused to open: no permission, a dead link, a file that is none.

Why it matters
    Logs that a container or another user wrote often belong to root. TensorBoard leaves them out without a word.

What to do
    Change the permissions (`chmod -R a+rX runs`) or the owner, or read as the user who wrote them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.decode.problems import why_unreadable
from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ108", "unreadable", "error")

_HINT = "see who may read it: ls -ld; chmod a+rx"


def check(look: Look) -> Iterator[Finding]:
    for error in look.errors:
        if error.code == "unreadable":
            yield RULE.finding(error.message, path=error.path, hint=error.hint)
    for problem in look.found.problems:
        yield RULE.finding(problem.message, path=problem.path, hint=_HINT)
    for index in look.state("unreadable"):
        message, hint = why_unreadable(look.paths[index], int(look.files["error"][index]))
        yield RULE.finding(
            message,
            run=look.run_of_file(index),
            path=look.paths[index],
            hint=hint or "delete it, or leave it: it is no event file",
        )
