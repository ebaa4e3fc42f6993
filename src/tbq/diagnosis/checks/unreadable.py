"""A file or directory cannot be read.

What it does
    Reports what the system cannot open: no permission, a broken link, something that is not a regular file.

Why it matters
    Logs written by a container or another user often belong to root. TensorBoard skips them without a message.

What to do
    Change the permissions (`chmod -R a+rX runs`) or the owner, or read them as the user who wrote them.
"""

from __future__ import annotations

from tbq.decode.problems import why_unreadable
from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ108", "unreadable", "error")

_HINT = "check its permissions: ls -ld; chmod a+rx"


def check(survey: Survey) -> Findings:
    for error in survey.errors:
        if error.code == "unreadable":
            yield RULE.finding(error.message, path=error.path, hint=error.hint)
    for problem in survey.discovered.problems:
        yield RULE.finding(problem.message, path=problem.path, hint=_HINT)
    for index in survey.state("unreadable"):
        message, hint = why_unreadable(survey.paths[index], int(survey.files["error"][index]))
        yield RULE.finding(
            message,
            run=survey.run_of_file(index),
            path=survey.paths[index],
            hint=hint,
        )
