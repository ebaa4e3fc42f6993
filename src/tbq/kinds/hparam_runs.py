"""The sub-runs that `add_hparams` makes: which runs they are, and which belong to the run above.

torch, tensorboardX and tbq write each call of `add_hparams` into a directory below the run, named after the time of
day or `run_name`. It holds exactly the three entries of the hparams plugin and each metric once. That content
identifies it; its name proves nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tbq.columns.codes import values_of
from tbq.columns.rows import having

if TYPE_CHECKING:
    import pyarrow as pa

START = "_hparams_/session_start_info"
_ENTRIES = {"_hparams_/experiment", START, "_hparams_/session_end_info"}


@dataclass(frozen=True)
class SubRuns:
    """`below` maps runs to their sub-runs; `own` are the runs with their own hyperparameters."""

    below: dict[str, list[str]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()

    @property
    def folded(self) -> dict[str, str]:
        """Sub-run → its run, if it is the only sub-run and the run has no hyperparameters itself.

        A run can hold one set of hyperparameters. With several, each sub-run is its own trial.
        """
        return {
            subs[0]: above for above, subs in self.below.items() if len(subs) == 1 and above not in self.own
        }


def parent(run: str) -> str | None:
    """The run above a run, if any; the logdir itself has none.

    >>> parent("exp/1700000000.5"), parent("exp")
    ('exp', '.')
    """
    return None if run == "." else run.rpartition("/")[0] or "."


def sub_runs(series: pa.Table, runs: Collection[str]) -> SubRuns:
    """Find the sub-runs in a table of series (run, tag, kind and count of each), among these runs."""
    own = set(values_of(having(series.select(["run", "tag"]), "tag", [START])["run"]))
    if not own:
        return SubRuns()
    known = set(runs)
    likely = [run for run in own if parent(run) in known]
    # Row by row only now: there may be a million series, and usually few are candidates.
    near = having(series.select(["run", "tag", "kind", "count"]), "run", likely)
    entries: dict[str, set[str]] = {run: set() for run in likely}
    calls: dict[str, int] = {}
    most: dict[str, int] = dict.fromkeys(likely, 0)
    plain = dict.fromkeys(likely, True)
    columns = (values_of(near[name]) for name in ("run", "tag", "kind", "count"))
    for run, tag, kind, count in zip(*columns, strict=True):
        if kind == "hparams":
            entries[run].add(tag)
            if tag == START:
                calls[run] = count
        elif kind == "scalars":
            most[run] = max(most[run], count)
        else:
            plain[run] = False
    below: dict[str, list[str]] = {}
    for run in sorted(likely):
        if plain[run] and entries[run] == _ENTRIES and most[run] <= calls[run]:
            below.setdefault(parent(run) or "", []).append(run)
    return SubRuns(below, frozenset(own))
