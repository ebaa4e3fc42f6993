"""`Listing`: the series of each followed run, as TensorBoard asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq import _core
from tbq.decode.reader import table_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tbq._core import Result
    from tbq.following.follower import Follower
    from tbq.following.update import Update


class Listed(NamedTuple):
    """One series: its rows, and the content of its first metadata."""

    tag: str
    kind: str
    field: str  # of its first value: "simple_value", "tensor", "image", …
    rows: int
    max_step: int
    max_wall_time: float
    first_wall_time: float
    last_step: int
    last_wall_time: float
    last_value: float  # 0 unless it is a scalar
    has_metadata: bool
    plugin: str
    content: bytes
    display_name: str
    description: str
    data_class: int
    refused: int  # values of a scalar tag that are not a single number
    began_as: str  # the field of the tag's first value of any kind
    began_with_metadata: bool  # that value has metadata


class ListedRun(NamedTuple):
    """The wall time of a run's first event (None if it has none), and its series as they were first logged."""

    first_event: float | None
    series: list[Listed]


class Points(NamedTuple):
    """The points of one series of scalars."""

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]


class Listing:
    """Reads from a `Follower`, which only this object polls. May be used from several threads."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._store = follower.store

    def poll(self) -> Update:
        """Read new data. The update has runs and problems, but no tables."""
        return self._follower.poll(rows=False)

    def runs(self) -> list[str]:
        """The names of all runs."""
        return self._follower.runs

    def pause(self) -> float:
        """Seconds until it is time for the next poll."""
        return self._follower.pause()

    def of_runs(self, runs: Sequence[str]) -> dict[str, ListedRun]:
        """The series of these runs; runs that are gone are left out."""
        return {
            run: ListedRun(first, [Listed(*each) for each in series])
            for run, (first, series) in self._store.listing(runs)
        }

    def points(self, run: str, tag: str) -> Points:
        """Every point of a series of scalars, in the order of rows."""
        return Points(*self._store.points(run, tag))

    def values(self, run: str, kind: str) -> RunValues:
        """The values of one kind of one run; large values stay in their files until they are read."""
        result, runs = self._store.of_run(kind, run)
        return RunValues(result, kind, [each.name for each in runs])


class RunValues:
    """The values of one kind of one run, as of the time when this object was made."""

    def __init__(self, result: Result, kind: str, runs: list[str]) -> None:
        self._result = result
        self._kind = kind
        self._runs = runs
        self._places: dict[str, list[tuple[int, int, float]]] | None = None
        self._lengths: list[int] | None = None

    def places(self, tag: str) -> list[tuple[int, int, float]]:
        """Row, step and wall time of each value of a tag."""
        if self._places is None:
            from tbq.columns.codes import values_of

            keys = table_of(_core.keys(self._result, self._kind, self._runs))
            places: dict[str, list[tuple[int, int, float]]] = {}
            columns = (values_of(keys["tag"]), keys["step"].to_pylist(), keys["wall_time"].to_pylist())
            for row, (name, step, wall_time) in enumerate(zip(*columns, strict=True)):
                places.setdefault(name, []).append((row, step, wall_time))
            self._places = places
        return self._places.get(tag, [])

    def blob_lengths(self) -> list[int]:
        """How many blobs TensorBoard makes of each row; -1 if the row cannot be read."""
        if self._lengths is None:
            self._lengths = _core.blob_lengths(self._result, self._kind)
        return self._lengths

    def as_logged(self, rows: Sequence[int]) -> pa.Table:
        """These values as they were logged; unreadable values are left out."""
        return self._read(_core.as_logged(self._result, self._kind, self._runs, list(rows)))

    def table(self, rows: Sequence[int]) -> pa.Table:
        """The table of these values; unreadable values are left out."""
        return self._read(_core.table(self._result, self._kind, self._runs, list(rows)))

    def _read(self, stream: Any) -> pa.Table:
        table = table_of(stream)
        _core.value_problems(self._result)  # discarded: TensorBoard leaves unreadable values out too
        return table
