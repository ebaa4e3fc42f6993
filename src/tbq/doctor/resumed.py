"""Runs whose later sessions go back to steps that earlier ones had passed: resumed, or started again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.doctor.look import Look


@dataclass
class Resumed:
    """One such run: the scalar series that were logged twice, and what of them `restarts="resume"` hides."""

    run: int
    series: dict[int, None] = field(default_factory=dict)  # in order
    sessions: set[int] = field(default_factory=set)  # those that went back
    anew: bool = False  # one of them began where an earlier one had begun, or before
    points: int = 0  # of all scalars of the run
    hidden: int = 0

    @property
    def times(self) -> str:
        return "once" if len(self.sessions) == 1 else f"{len(self.sessions):,} times"

    @property
    def share(self) -> float:
        return self.hidden / max(self.points, 1)

    @property
    def said(self) -> str:
        return f"{self.hidden:,} of its {self.points:,} points ({100 * self.share:.0f} %)"

    @property
    def is_rerun(self) -> bool:
        """Whether an experiment was run again in the directory of another; a false start of a few points was not."""
        return self.anew and self.share >= 0.05


def resumed(look: Look) -> list[Resumed]:
    """Every run that was; series that two sessions logged at once, or out of order by name, belong to other checks."""
    from tbq.doctor.readers import shown

    earlier, later = look.turns
    segments = look.segments
    scalars = look.is_kind("scalars")
    found: dict[int, Resumed] = {}
    for pair in look.rows(segments["first_step"][later] <= segments["max_step"][earlier]):
        series = int(segments["series"][later[pair]])
        never_rises = look.series["min_step"][series] == look.series["max_step"][series]
        if series in look.overlapping or series in look.misordered or not scalars[series] or never_rises:
            continue
        one = found.setdefault(int(look.series["run"][series]), Resumed(int(look.series["run"][series])))
        one.series[series] = None
        one.sessions.add(int(segments["session"][later[pair]]))
        one.anew = one.anew or _covers(look, series, int(later[pair]))
    for one in found.values():
        counts = [shown(look, series) for series in look.rows(scalars & (look.series["run"] == one.run))]
        one.points = sum(count.logged for count in counts)
        one.hidden = sum(count.logged - count.tbq for count in counts)
    return list(found.values())


def _covers(look: Look, series: int, segment: int) -> bool:
    """Whether a segment begins at the first step of those before it, or earlier, and hides more than one point."""
    segments = look.segments
    first = int(segments["series"].searchsorted(series))
    before = slice(first, segment)
    begins = segments["first_step"][segment] <= segments["min_step"][before].min()
    return bool(begins and segments["count"][before].sum() > 1)
