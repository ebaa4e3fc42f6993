"""Where later sessions of a run took its scalars over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tbq.decode.reader import table_of

if TYPE_CHECKING:
    from tbq._core import Result


def takeovers_of(result: Result, runs: Sequence[str]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Where later sessions took over, for each (run, tag) of scalars."""
    segments = table_of(result.segments())
    if len(segments) < 2:
        return {}
    names = ("series", "session", "first_step", "first_wall_time")
    series, session, first, wall = (segments[name].to_numpy() for name in names)
    # A file that several threads decode consists of several segments of one session.
    later = np.flatnonzero((series[1:] == series[:-1]) & (session[1:] != session[:-1])) + 1
    if not len(later):
        return {}
    about = table_of(result.series(list(runs))).select(["run", "tag", "kind"]).to_pylist()
    takeovers: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in later.tolist():
        of = about[int(series[row])]
        if of["kind"] == "scalars":
            takeovers.setdefault((of["run"], of["tag"]), []).append((int(first[row]), float(wall[row])))
    return takeovers
