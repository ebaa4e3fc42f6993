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

from typing import TYPE_CHECKING

from tbq.diagnosis.finding import Finding, Rule
from tbq.kinds.run_states import RunFacts, joined, states_now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ409", "crashed", "warning")


def check(survey: Survey) -> Iterator[Finding]:
    facts = _folded(survey)
    for run, state in states_now(facts).items():
        if state == "crashed":
            step = facts[run].last_step
            where = "" if step is None else f" at step {step:,}"
            why = "an error ended it" if facts[run].ends.end else "it stopped far before the other runs"
            yield RULE.finding(f"crashed{where}: {why}", run=run, hint="run it again, or leave it out")


def _folded(survey: Survey) -> dict[str, RunFacts]:
    """The facts about runs with their sub-runs."""
    return {
        run.name: joined([survey.facts[name] for name in (run.name, *run.folded)]) for run in survey.folded
    }
