"""What each reader shows of a scalar series: TensorBoard's default (Rust) loader, its Python loader, and tbq."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.diagnosis.survey import Array, Survey


@dataclass(frozen=True)
class Shown:
    """How many points each reader shows of one or more series, before any sampling."""

    logged: int = 0
    rust: int = 0
    python: int = 0
    tbq: int = 0

    def __add__(self, other: Shown) -> Shown:
        return Shown(
            self.logged + other.logged,
            self.rust + other.rust,
            self.python + other.python,
            self.tbq + other.tbq,
        )

    def __str__(self) -> str:
        return (
            f"of {self.logged:,} points TensorBoard shows {self.rust:,} (with --load_fast=false {self.python:,}), "
            f"tbq {self.tbq:,}"
        )


def effects(survey: Survey, series: Iterable[int]) -> Iterator[tuple[str, list[int], str]]:
    """By run: its name, its series among these, and what each reader shows of its scalars."""
    scalars = survey.is_kind("scalars")
    by_run: dict[int, list[int]] = {}
    for each in sorted(series):
        by_run.setdefault(int(survey.series["run"][each]), []).append(each)
    for run, together in by_run.items():
        numbers = [each for each in together if scalars[each]]
        yield survey.runs[run].name, together, f": {describe(survey, *numbers)}" if numbers else ""


def describe(survey: Survey, *series: int) -> str:
    """What each reader shows of these series of a run, in words; damage hides more until it is repaired."""
    total = sum((shown(survey, index) for index in series), Shown())
    in_run = survey.files["run"] == survey.series["run"][series[0]]
    return f"{total}{' (after the damage is repaired)' if survey.files['faults'][in_run].any() else ''}"


def shown(survey: Survey, series: int) -> Shown:
    """Count the points of a scalar series that each reader keeps."""
    import numpy as np

    rows = survey.rows_of(series)
    steps = survey.scalars["step"][rows]
    segments = _equal(survey.segments["series"], series)
    counts = survey.segments["count"][segments]
    pieces = np.split(steps, np.cumsum(counts)[:-1])
    limits = survey.segments["limit"][segments]
    tbq = sum(int((piece < limit).sum()) for piece, limit in zip(pieces, limits, strict=True))
    sessions = survey.segments["session"][segments]
    ranks, offsets = survey.segment_ranks[segments], survey.sessions["offset"][sessions]
    order = np.lexsort((offsets, ranks))
    by_name = [pieces[place] for place in order]
    return Shown(
        logged=len(steps),
        rust=rust(np.concatenate(by_name)) if by_name else 0,
        python=_python(survey, series, [sessions[place] for place in order], by_name),
        tbq=tbq,
    )


def rust(steps: Array) -> int:
    """The Rust loader: a step replaces all earlier points whose step is not smaller."""
    import numpy as np

    if len(steps) == 0:
        return 0
    smallest_after = np.minimum.accumulate(steps[::-1])[::-1]
    return int((steps[:-1] < smallest_after[1:]).sum()) + 1


def _python(survey: Survey, series: int, sessions: list[int], pieces: list[Array]) -> int:
    """The Python loader: each SessionLog.START except a run's first drops the earlier points from its step on."""
    import numpy as np

    run = int(survey.series["run"][series])
    in_run = _equal(survey.sessions["run"], run)
    ranks = survey.file_ranks[survey.sessions["file"][in_run]]
    order = in_run[np.lexsort((survey.sessions["offset"][in_run], ranks))]
    by_session: dict[int, list[Array]] = {}
    for session, piece in zip(sessions, pieces, strict=True):
        by_session.setdefault(int(session), []).append(piece)
    kept: list[Array] = []
    started = False
    for session in order.tolist():
        if survey.sessions["has_start"][session]:
            if started:
                kept = [piece[piece < survey.sessions["start_step"][session]] for piece in kept]
            started = True
        kept += by_session.get(session, [])
    return sum(len(piece) for piece in kept)


def _equal(column: Array, value: int) -> Array:
    """The rows of a sorted column that equal this value."""
    import numpy as np

    return np.arange(np.searchsorted(column, value), np.searchsorted(column, value, side="right"))
