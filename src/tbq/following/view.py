"""`View`: what screens show of a `Follower`: last rows, curves on one grid, last values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from tbq.arguments import choice
from tbq.arrow import to_pyarrow

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tbq.following.follower import Follower

Axis = Literal["step", "relative", "wall"]
AXES: tuple[Axis, ...] = get_args(Axis)
BACK = 50  # rows over which a run's speed is measured


class LatestOfSeries(NamedTuple):
    """The last row of one series, and an earlier row of the same session, up to 50 rows before it."""

    kind: str
    tag: str
    rows: int
    step: int
    wall_time: float
    value: float  # 0 unless it is a scalar
    earlier_rows: int  # how many rows before the last
    earlier_step: int
    earlier_wall_time: float
    takeovers: list[tuple[int, float]]  # step and wall time of the first row of each later session


class LatestOfRun(NamedTuple):
    """When a run's first and last event were written (NaN if unknown), and its series, sorted by tag."""

    began: float
    ended: float
    series: list[LatestOfSeries]
    end: str = ""  # what its writer says: "finished", "failed", or nothing


class CurveGrid(NamedTuple):
    """Curves on one grid: one row per series, one column per column of the picture; NaN if it has no point."""

    low: float
    high: float
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    min: NDArray[np.float64]
    max: NDArray[np.float64]
    broken: NDArray[np.float64]  # for each series: x of its first value in range that is not finite


class View:
    """What a `Follower` has read, as of its last poll. A run that does not exist has no points."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._store = follower.store

    def latest(self, runs: Iterable[str]) -> dict[str, LatestOfRun]:
        """The last row of each series of these runs."""
        return {
            run: LatestOfRun(began, ended, [LatestOfSeries(*each) for each in series], end)
            for run, (began, ended, end, series) in self._store.latest(runs, BACK)
        }

    def curves(
        self,
        series: Sequence[tuple[str, str]],
        *,
        x: Axis = "step",
        range: tuple[float, float] | None = None,  # noqa: A002 - what the axis shows
        width: int = 800,
        smooth: float = 0.0,
    ) -> CurveGrid:
        """The columns of the curves of (run, tag) pairs, made of all points after TensorBoard's smoothing."""
        choice("x", x, AXES)
        low, high, *columns, broken = self._store.curves(series, x, range, width, smooth)
        shape = (len(series), width)
        first, last, least, largest = (column.reshape(shape) for column in columns)
        return CurveGrid(low, high, first, last, least, largest, broken)

    def last_values(self, kind: str, series: Sequence[tuple[str, str]]) -> dict[tuple[str, str], pa.Table]:
        """The rows of the last readable value of each (run, tag) pair; kinds are "images", "texts", …"""
        from tbq.columns.codes import values_of
        from tbq.kinds.values import Values

        result, runs = self._store.everything(self._follower.core_kind(kind))
        tags = sorted({tag for _, tag in series})
        values = Values(self._follower.reader, kind, result, runs, tags, "ignore")
        keys = to_pyarrow(values.keys())
        rows: dict[tuple[str, str], list[int]] = {pair: [] for pair in series}
        columns = (values_of(keys["run"]), values_of(keys["tag"]), keys["row"].to_pylist())
        for run, tag, row in zip(*columns, strict=True):
            if (run, tag) in rows:
                rows[run, tag].append(row)
        tables: dict[tuple[str, str], pa.Table] = {}
        for pair, places in rows.items():
            if places:
                tables[pair] = values.last({pair: places})
        return tables

    def exists(self) -> bool:
        """Whether one of the followed paths exists."""
        return self._follower.discovery.exists()
