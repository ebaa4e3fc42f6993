"""A run crashed.

What it does
    Finds runs whose writer says that an error ended them, and runs that stopped before half of the steps of their
    siblings, without an end, an hour ago or more. A directory of `add_hparams` counts as part of the run above.

Why it matters
    An average over such runs is an average over fewer seeds, and a comparison at the last step compares nothing.

What to do
    Read the log of the process, and run it again, or leave the run out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.diagnosis.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ409", "crashed", "warning")


def check(survey: Survey) -> Iterator[Finding]:
    for row in _runs(survey):
        if row["state"] == "crashed":
            step = "" if row["last_step"] is None else f" at step {row['last_step']:,}"
            yield RULE.finding(
                f"crashed{step}: an error ended it, or it stopped far before the other runs",
                run=row["run"],
                hint="run it again, or leave it out",
            )


def _runs(survey: Survey) -> list[dict[str, Any]]:
    from tbq.decode.reader import Reader
    from tbq.decode.sub_runs import fold
    from tbq.errors import SourceError
    from tbq.kinds.overview import overview

    if not survey.runs:
        return []
    reader = Reader(fold(survey.discovered, survey.unpacked), survey.unpacked)
    try:
        rows: list[dict[str, Any]] = (
            overview(reader, "runs").select(["run", "last_step", "state"]).to_pylist()
        )
    except SourceError:  # no file can be read, which is another finding
        return []
    return rows
