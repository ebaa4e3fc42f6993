"""Runs whose later sessions go back to steps that earlier sessions had passed: resumed, or restarted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.diagnosis.survey import Survey


@dataclass
class Resumed:
    """Such a run: the scalar series that were logged twice, and what `restarts="resume"` hides of them."""

    run: int
    series: dict[int, None] = field(default_factory=dict)  # in order
    sessions: set[int] = field(default_factory=set)  # the sessions that went back
    restarted: bool = False  # a session began at or before the first step of an earlier session
    points: int = 0  # of all scalars of the run
    hidden: int = 0

    @property
    def times(self) -> str:
        return "once" if len(self.sessions) == 1 else f"{len(self.sessions):,} times"

    @property
    def share(self) -> float:
        return self.hidden / max(self.points, 1)

    @property
    def loss(self) -> str:
        return f"{self.hidden:,} of its {self.points:,} points ({100 * self.share:.0f} %)"

    @property
    def is_rerun(self) -> bool:
        """Whether an experiment was run again in the directory of another, rather than after a false start."""
        return self.restarted and self.share >= 0.05


def resumed(survey: Survey) -> list[Resumed]:
    """All such runs; other checks report series that two sessions logged at once, or out of order by name."""
    from tbq.diagnosis.readers import shown

    earlier, later = survey.turns
    segments = survey.segments
    scalars = survey.is_kind("scalars")
    by_run: dict[int, Resumed] = {}
    for pair in survey.rows(segments["first_step"][later] <= segments["max_step"][earlier]):
        series = int(segments["series"][later[pair]])
        never_rises = survey.series["min_step"][series] == survey.series["max_step"][series]
        if series in survey.overlapping or series in survey.misordered or not scalars[series] or never_rises:
            continue
        number = int(survey.series["run"][series])
        run = by_run.setdefault(number, Resumed(number))
        run.series[series] = None
        run.sessions.add(int(segments["session"][later[pair]]))
        run.restarted = run.restarted or _covers(survey, series, int(later[pair]))
    for run in by_run.values():
        counts = [
            shown(survey, series) for series in survey.rows(scalars & (survey.series["run"] == run.run))
        ]
        run.points = sum(count.logged for count in counts)
        run.hidden = sum(count.logged - count.tbq for count in counts)
    return list(by_run.values())


def _covers(survey: Survey, series: int, segment: int) -> bool:
    """Whether a segment begins at or before the first step of earlier segments, and hides more than one point."""
    segments = survey.segments
    first = int(segments["series"].searchsorted(series))
    before = slice(first, segment)
    begins = segments["first_step"][segment] <= segments["min_step"][before].min()
    return bool(begins and segments["count"][before].sum() > 1)
