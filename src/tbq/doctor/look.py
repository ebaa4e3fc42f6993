"""One look at a path: everything the checks ask about, found in one pass and kept as columns."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tbq import decode as _decode
from tbq.errors import SourceError, UsageError
from tbq.source import Found, Run, discover
from tbq.source.discover import sources
from tbq.source.growing import Growing
from tbq.source.inflate import Unpacked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tbq._core import FileReport, Result
    from tbq.arguments import StrPath as Path
    from tbq.doctor.resumed import Resumed
    from tbq.limits import Size
    from tbq.progress import Progress
    from tbq.source.discover import Source

    Array = NDArray[Any]

MEDIA = ("images", "audio", "meshes", "tensors", "histograms")


class Look:
    """What lies at a path, or at several; `errors` say of which of them there is nothing to look at."""

    def __init__(
        self,
        source: Source,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
        max_unpacked: Size | None = None,
    ) -> None:
        named = sources(source)
        self.given = [path for _, path in named]
        items = source if isinstance(source, Mapping) else self.given
        self.errors: list[SourceError] = []
        self.clash: UsageError | None = None
        self.near: list[str] | None = None  # what nearby.py has found, once it was asked
        self._growing = Growing()
        try:
            self.found = self._discover(items)
        except UsageError as wrong:
            if len(self.given) < 2:
                raise
            self.clash = wrong
            self.found = Found(self.given, [])
        self._options = _decode.Options(restarts="keep", threads=threads, progress=progress)
        self.unpacked = Unpacked(max_unpacked)

    def _discover(self, items: Sequence[Path] | Mapping[str, Path]) -> Found:
        """What is there, whatever of it is not."""
        with contextlib.suppress(SourceError):  # the usual case: nothing is missing
            return discover(items)
        pairs = items.items() if isinstance(items, Mapping) else enumerate(items)
        there = []
        for key, path in pairs:
            try:
                discover(path)
            except SourceError as missing:
                self.errors.append(missing)
            else:
                there.append((key, path))
        if not there:
            return Found(self.given, [])
        if isinstance(items, Mapping):
            return discover({str(key): path for key, path in there})
        return discover([path for _, path in there])

    @property
    def unreadable(self) -> bool:
        """Whether a directory could not be looked into, so that there may be more than was found."""
        return bool(self.found.problems) or any(error.code == "unreadable" for error in self.errors)

    @property
    def runs(self) -> list[Run]:
        return self.found.runs

    @cached_property
    def result(self) -> Result:
        """All scalars decoded, everything else counted."""
        return _decode.decode(self.runs, ["scalars"], self._options, self.unpacked, details=True, verify=True)

    @cached_property
    def reports(self) -> list[FileReport]:
        return self.result.files

    @cached_property
    def files(self) -> dict[str, Array]:
        """A row a file."""
        return _columns(self.result.file_table())

    @cached_property
    def sessions(self) -> dict[str, Array]:
        """A row a session, those of a run in their order."""
        return _columns(self.result.sessions())

    @cached_property
    def segments(self) -> dict[str, Array]:
        """A row for what a session logged of a series, those of a series in the order of sessions."""
        return _columns(self.result.segments())

    @cached_property
    def paths(self) -> list[str]:
        return [path for run in self.runs for path in run.files]

    def state(self, name: str) -> list[int]:
        """The files that turned out to be this."""
        from tbq import _core

        return self.rows(self.files["state"] == _core.file_states().index(name))

    @staticmethod
    def rows(mask: Array) -> list[int]:
        rows: list[int] = mask.nonzero()[0].tolist()
        return rows

    @property
    def unfinished(self) -> Array:
        """For each file, whether it ends inside a record; one that could not be read to its end is another matter."""
        mask: Array = (self.files["truncated"] > 0) & (self.files["error"] == 0)
        return mask

    def being_written(self, file: int) -> bool:
        return self._growing(self.paths[file], self.reports[file].bytes)

    def run_of_file(self, file: int) -> str:
        return self.runs[int(self.files["run"][file])].name

    # ---- series ------------------------------------------------------------------------------------------------

    @cached_property
    def series_table(self) -> Any:
        """A row a series, as Arrow has it."""
        import pyarrow as pa

        return pa.table(self.result.series([run.name for run in self.runs]))

    @cached_property
    def series(self) -> dict[str, Array]:
        """The numbers of each series; `run` is an index."""
        table = self.series_table
        names = (
            "count",
            "first_step",
            "last_step",
            "min_step",
            "max_step",
            "first_wall_time",
            "last_wall_time",
        )
        columns = {name: table[name].to_numpy() for name in (*names, "rounded", "refused")}
        columns["run"] = table["run"].combine_chunks().indices.to_numpy()
        return columns

    @cached_property
    def tags(self) -> list[str]:
        """The tag of each series."""
        tags: list[str] = self.series_table["tag"].to_pylist()
        return tags

    @cached_property
    def tag_codes(self) -> tuple[Array, list[str]]:
        """The tags as numbers, and the tag of each number."""
        encoded = self.series_table["tag"].combine_chunks().dictionary_encode()
        return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()

    def is_kind(self, *kinds: str) -> Array:
        """For each series, whether it is of one of these kinds."""
        return self._is("kind", kinds)

    def is_dtype(self, *dtypes: str) -> Array:
        return self._is("dtype", dtypes)

    def is_plugin(self, *plugins: str) -> Array:
        return self._is("plugin", plugins)

    def _is(self, column: str, values: tuple[str, ...]) -> Array:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        values_there = pc.fill_null(self.series_table[column], "")
        if len(values_there) == 0:
            return np.zeros(0, bool)
        found = pc.is_in(values_there, pa.array(values, values_there.type))
        mask: Array = found.combine_chunks().to_numpy(zero_copy_only=False)
        return mask

    def dtype(self, series: int) -> str:
        return str(self.series_table["dtype"][series])

    def kind(self, series: int) -> str:
        return str(self.series_table["kind"][series])

    def run_of(self, series: int) -> str:
        return self.runs[int(self.series["run"][series])].name

    # ---- scalars -----------------------------------------------------------------------------------------------

    @cached_property
    def scalars(self) -> dict[str, Array]:
        """All rows of scalars, segment behind segment."""
        import pyarrow as pa

        table = pa.table(self.result.scalars([run.name for run in self.runs]))
        return {name: table[name].to_numpy() for name in ("step", "wall_time", "value")}

    @cached_property
    def scalar_segments(self) -> tuple[Array, Array]:
        """Which segments hold scalars, and where the rows of each begin (with the end behind the last)."""
        import numpy as np

        which = self.is_kind("scalars")[self.segments["series"]].nonzero()[0]
        starts = np.concatenate([[0], np.cumsum(self.segments["count"][which])])
        assert starts[-1] == len(self.scalars["step"])
        return which, starts

    @cached_property
    def scalar_series(self) -> tuple[Array, Array]:
        """Which series are scalars, and where the rows of each begin (with the end behind the last)."""
        import numpy as np

        which = self.is_kind("scalars").nonzero()[0]
        return which, np.concatenate([[0], np.cumsum(self.series["count"][which])])

    def rows_of(self, series: int) -> slice:
        """The rows of scalars of one series."""
        which, starts = self.scalar_series
        at = int(which.searchsorted(series))
        return slice(int(starts[at]), int(starts[at + 1]))

    @cached_property
    def step_changes(self) -> Array:
        """From each row of scalars to the next: the change of step; 1 from one segment to the next."""
        import numpy as np

        steps = self.scalars["step"]
        changes = np.diff(steps)
        _, starts = self.scalar_segments
        changes[starts[1:-1] - 1] = 1
        return changes

    @cached_property
    def value_changes(self) -> Array:
        """From each row of scalars to the next: whether the value is another one (NaN is the same as NaN)."""
        import numpy as np

        values = self.scalars["value"]
        changes: Array = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
        return changes

    def segments_of_rows(self, rows: Array) -> Array:
        """The segment of each of these rows of scalars."""
        import numpy as np

        which, starts = self.scalar_segments
        found: Array = which[np.searchsorted(starts, rows, side="right") - 1]
        return found

    def series_of_rows(self, rows: Array) -> Array:
        """The series of each of these rows of scalars."""
        import numpy as np

        which, starts = self.scalar_series
        found: Array = which[np.searchsorted(starts, rows, side="right") - 1]
        return found

    @cached_property
    def turns(self) -> tuple[Array, Array]:
        """Pairs of segments of one series that follow each other in time: indices of the earlier and the later."""
        series = self.segments["series"]
        later = (series[1:] == series[:-1]).nonzero()[0] + 1
        return later - 1, later

    @cached_property
    def last_sessions(self) -> Array:
        """For each series, the last session that logged it."""
        import numpy as np

        sessions = np.zeros(len(self.series["run"]), np.int64)
        sessions[self.segments["series"]] = self.segments["session"]  # those of a series lie in their order
        return sessions

    @cached_property
    def file_ranks(self) -> Array:
        """For each file, its place among those of its run by plain order of path, which is how TensorBoard reads."""
        import numpy as np

        ranks = np.zeros(len(self.paths), np.int64)
        at = 0
        for run in self.runs:
            count = len(run.files)
            if count > 1:
                for rank, index in enumerate(sorted(range(count), key=run.files.__getitem__)):
                    ranks[at + index] = rank
            at += count
        return ranks

    @cached_property
    def segment_ranks(self) -> Array:
        """For each segment, the place of its file by plain order of path."""
        ranks: Array = self.file_ranks[self.sessions["file"][self.segments["session"]]]
        return ranks

    # Which series are told about by which check, so that one cause is one finding.

    @cached_property
    def overlapping(self) -> set[int]:
        """Series that two sessions logged at the same time."""
        earlier, later = self.turns
        walls = self.segments
        mask = walls["first_wall_time"][later] < walls["last_wall_time"][earlier]
        mask &= self.sessions["timed"][self.segments["session"][later]] > 0
        return set(self.segments["series"][later[mask]].tolist())

    @cached_property
    def misordered(self) -> set[int]:
        """Series whose sessions TensorBoard reads in another order than they were written in."""
        earlier, later = self.turns
        ranks = self.segment_ranks
        mask = ranks[earlier] > ranks[later]
        return set(self.segments["series"][later[mask]].tolist()) - self.overlapping

    @cached_property
    def resumed(self) -> list[Resumed]:
        """Runs that were resumed from an earlier step, or started again."""
        from tbq.doctor.resumed import resumed

        return resumed(self)

    @cached_property
    def overwritten(self) -> dict[int, int]:
        """Files across whose damage steps go back: with the place of that damage."""
        found = {}
        for index in self.rows(self.files["faults"] > 0):
            for fault in self.reports[index].faults:
                before, after = fault.step_before, fault.step_after
                if fault.code != "bad_event" and before is not None and after is not None and after < before:
                    found[index] = fault.offset
                    break
        return found


def _columns(stream: object) -> dict[str, np.ndarray[Any, Any]]:
    import pyarrow as pa

    table = pa.table(stream)
    return {name: table[name].to_numpy() for name in table.column_names}


def some(names: list[str], most: int = 3) -> str:
    """A few names and how many more there are.

    >>> some(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
