"""What each reader shows of a scalar series: TensorBoard's default (Rust) loader, its Python loader, and tbq."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.doctor.look import Array, Look


@dataclass(frozen=True)
class Shown:
    """How many points of one or more series each reader shows, before any sampling."""

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


def told(look: Look, *series: int) -> str:
    """What each reader shows of these series of one run, in words; damage hides more of it until it is repaired."""
    total = sum((shown(look, one) for one in series), Shown())
    mine = look.files["run"] == look.series["run"][series[0]]
    return f"{total}{' (once the damage is repaired)' if look.files['faults'][mine].any() else ''}"


def shown(look: Look, series: int) -> Shown:
    """Count the points of one scalar series that each reader keeps."""
    import numpy as np

    rows = look.rows_of(series)
    steps = look.scalars["step"][rows]
    mine = _equal(look.segments["series"], series)
    counts = look.segments["count"][mine]
    pieces = np.split(steps, np.cumsum(counts)[:-1])
    limits = look.segments["limit"][mine]
    tbq = sum(int((piece < limit).sum()) for piece, limit in zip(pieces, limits, strict=True))
    sessions = look.segments["session"][mine]
    ranks, offsets = look.segment_ranks[mine], look.sessions["offset"][sessions]
    order = np.lexsort((offsets, ranks))
    by_name = [pieces[place] for place in order]
    return Shown(
        logged=len(steps),
        rust=rust(np.concatenate(by_name)) if by_name else 0,
        python=_python(look, series, [sessions[place] for place in order], by_name),
        tbq=tbq,
    )


def rust(steps: Array) -> int:
    """The Rust loader: a step that is not larger than those before it takes their place."""
    import numpy as np

    if len(steps) == 0:
        return 0
    least_behind = np.minimum.accumulate(steps[::-1])[::-1]
    return int((steps[:-1] < least_behind[1:]).sum()) + 1


def _python(look: Look, series: int, sessions: list[int], pieces: list[Array]) -> int:
    """The Python loader: each SessionLog.START of a run but the first drops what was read so far from its step on."""
    import numpy as np

    run = int(look.series["run"][series])
    mine = _equal(look.sessions["run"], run)
    ranks = look.file_ranks[look.sessions["file"][mine]]
    order = mine[np.lexsort((look.sessions["offset"][mine], ranks))]
    by_session: dict[int, list[Array]] = {}
    for session, piece in zip(sessions, pieces, strict=True):
        by_session.setdefault(int(session), []).append(piece)
    kept: list[Array] = []
    started = False
    for session in order.tolist():
        if look.sessions["has_start"][session]:
            if started:
                kept = [piece[piece < look.sessions["start_step"][session]] for piece in kept]
            started = True
        kept += by_session.get(session, [])
    return sum(len(piece) for piece in kept)


def _equal(column: Array, value: int) -> Array:
    """The rows of a sorted column that hold this value."""
    import numpy as np

    return np.arange(np.searchsorted(column, value), np.searchsorted(column, value, side="right"))
