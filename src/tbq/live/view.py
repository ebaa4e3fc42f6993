"""What screens ask of a `Follower`: last rows, curves on one grid, last values, without a table of everything."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from tbq.arguments import choice

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tbq.live.follower import Follower

Axis = Literal["step", "relative", "wall"]
AXES = ("step", "relative", "wall")
BACK = 50  # rows between the two that say how fast a run is


class Series(NamedTuple):
    """The last row of one series, and the one up to 50 rows before it in the same session."""

    kind: str
    tag: str
    rows: int
    step: int
    wall_time: float
    value: float  # 0 unless it is a scalar
    earlier_step: int
    earlier_wall_time: float
    takeovers: list[tuple[int, float]]  # step and wall time of the first row of each later session


class LatestOfRun(NamedTuple):
    """When a run's first and last event were written (NaN if unknown), and its series, sorted by tag."""

    began: float
    ended: float
    series: list[Series]


class Curves(NamedTuple):
    """Curves on one grid: one row per series, one column per column of the picture; NaN where there is no point."""

    low: float
    high: float
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    least: NDArray[np.float64]
    largest: NDArray[np.float64]
    broken: NDArray[np.float64]  # for each series, x of its first value in range that is not finite


class View:
    """Looks at what a `Follower` has read, as of its last poll. Runs that are not there have no points."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def latest(self, runs: Iterable[str]) -> dict[str, LatestOfRun]:
        """The last row of each series of these runs."""
        follower = self._follower
        with follower._lock:
            places = self._places()
            wanted = [run for run in runs if run in places]
            rows = follower._open_store().latest([places[run] for run in wanted], BACK)
        return {
            run: LatestOfRun(began, ended, [Series(*each) for each in series])
            for run, (began, ended, series) in zip(wanted, rows, strict=True)
        }

    def curves(
        self,
        series: Sequence[tuple[str, str]],
        *,
        x: Axis = "step",
        range: tuple[float, float] | None = None,  # noqa: A002 - what the axis shows
        width: int = 800,
        smooth: float = 0.0,
    ) -> Curves:
        """The columns of the curves of (run, tag) pairs, of all points after smoothing as TensorBoard smooths."""
        choice("x", x, AXES)
        follower = self._follower
        with follower._lock:
            places = self._places()
            absent = len(places)  # a number that no run has
            numbered = [(places.get(run, absent), tag) for run, tag in series]
            low, high, *columns, broken = follower._open_store().curves(numbered, x, range, width, smooth)
        shape = (len(numbered), width)
        first, last, least, largest = (column.reshape(shape) for column in columns)
        return Curves(low, high, first, last, least, largest, broken)

    def last_values(self, kind: str, series: Sequence[tuple[str, str]]) -> dict[tuple[str, str], pa.Table]:
        """The rows of the last value of (run, tag) pairs that can be read; kinds are "images", "texts", …"""
        from tbq.columns.codes import values_of
        from tbq.kinds.values import Values

        follower = self._follower
        with follower._lock:
            result = follower._open_store().everything([follower._core_kind(kind)])
            runs = list(follower._runs)
        tags = sorted({tag for _, tag in series})
        values = Values(follower._reader, kind, result, runs, tags, "ignore")
        keys = values.keys()
        rows: dict[tuple[str, str], list[int]] = {pair: [] for pair in series}
        columns = (values_of(keys["run"]), values_of(keys["tag"]), keys["row"].to_pylist())
        for run, tag, row in zip(*columns, strict=True):
            if (run, tag) in rows:
                rows[run, tag].append(row)
        found: dict[tuple[str, str], pa.Table] = {}
        for pair, places in rows.items():
            if places:
                found[pair] = values.last({pair: places})
        return found

    def exists(self) -> bool:
        """Whether one of the paths that are followed is there."""
        paths = [path for _, path in self._follower._discovery._items]
        return any(os.path.lexists(os.path.expanduser(path)) or glob.glob(path) for path in paths)

    def _places(self) -> dict[str, int]:
        return {run.name: place for place, run in enumerate(self._follower._runs)}
