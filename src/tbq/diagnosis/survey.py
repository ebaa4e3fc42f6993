"""The survey of a path: everything the checks need, read in one pass and kept as columns."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tbq import decode as _decode
from tbq.decode.sub_runs import SubRunFolder
from tbq.errors import SourceError, UsageError
from tbq.kinds.run_states import RunFacts, facts_of, totals_of
from tbq.source import Found, Run, discover
from tbq.source.discover import Logs, refuse_lakes, refuse_remote_lakes, remote_for, sources
from tbq.source.files import HELD_BYTES, groups
from tbq.source.formats.translation import Translations
from tbq.source.growing import Growing
from tbq.source.inflate import Unpacked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tbq._core import FileReport, Result
    from tbq.arguments import StrPath
    from tbq.diagnosis.resumed import Resumed
    from tbq.limits import Size
    from tbq.progress import Progress
    from tbq.source.discover import Source
    from tbq.storage import Storage
    from tbq.writers import Writers

    Array = NDArray[Any]

#: In a log with more bytes than this, rows are read a few runs at a time.
MOST_BYTES = HELD_BYTES

MEDIA = ("images", "audio", "meshes", "tensors", "histograms")

_WANT = "the doctor examines event files"


class Survey:
    """The contents of one or more paths; `errors` lists the paths without anything to examine."""

    def __init__(
        self,
        source: Source,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
        max_unpacked: Size | None = None,
        storage: Storage | None = None,
        cache: StrPath | None = None,
        writers: Writers = None,
    ) -> None:
        named = sources(source)
        refuse_lakes(named, _WANT)
        remote = remote_for(named, storage, cache)
        self._discover = partial(discover, remote=remote, logs=Logs(remote, writers, max_unpacked))
        self.named_paths = [path for _, path in named]
        items = source if isinstance(source, Mapping) else self.named_paths
        self.errors: list[SourceError] = []
        self.clash: UsageError | None = None
        self.near: list[str] | None = None  # filled in by nearby.py on first use
        self._growing = Growing()
        try:
            self.discovered = self._present(items)
        except UsageError as clash:
            if len(self.named_paths) < 2:
                raise
            self.clash = clash
            self.discovered = Found(self.named_paths, [])
        refuse_remote_lakes(self.discovered, _WANT)
        self._options = _decode.DecodeOptions(restarts="keep", threads=threads, progress=progress)
        self.unpacked = Unpacked(max_unpacked)

    @classmethod
    def of_run(cls, found: Found, run: str, unpacked: Unpacked, threads: int | None = None) -> Survey:
        """The survey of one run of a log that is open, with the sub-runs that are part of it."""
        survey = cls.__new__(cls)
        survey.named_paths, survey.errors, survey.clash, survey.near = found.paths, [], None, None
        survey._growing = Growing()
        # Its sub-runs are part of it already, and their files are among its files.
        runs = [each._replace(folded=()) for each in found.runs if each.name == run]
        survey.discovered = found._replace(runs=runs, problems=[])
        survey._options = _decode.DecodeOptions(restarts="keep", threads=threads)
        survey.unpacked = unpacked
        return survey

    def _present(self, items: Sequence[str] | Mapping[str, str | os.PathLike[str]]) -> Found:
        """Discover the paths that exist, and record an error for each missing path."""
        with contextlib.suppress(SourceError):  # the usual case: nothing is missing
            return self._discover(items)
        pairs = items.items() if isinstance(items, Mapping) else enumerate(items)
        present = []
        for key, path in pairs:
            try:
                self._discover(path)
            except SourceError as missing:
                self.errors.append(missing)
            else:
                present.append((key, path))
        if not present:
            return Found(self.named_paths, [])
        if isinstance(items, Mapping):
            return self._discover({str(key): path for key, path in present})
        return self._discover([path for _, path in present])

    @property
    def unreadable(self) -> bool:
        """Whether a directory could not be listed, so that there may be more runs than these."""
        return bool(self.discovered.problems) or any(error.code == "unreadable" for error in self.errors)

    @property
    def runs(self) -> list[Run]:
        return self.discovered.runs

    @cached_property
    def of_other_trackers(self) -> frozenset[str]:
        """The runs whose files are logs of other trackers."""
        return frozenset(
            run.name
            for run in self.runs
            if isinstance(run.remote, Translations) and any(map(run.remote.is_log, run.files))
        )

    def parts(self) -> Iterator[Survey]:
        """Surveys of a few runs each, read on first use; only this survey if the log is small."""
        runs = list(groups(self.runs, MOST_BYTES, MOST_BYTES))
        if len(runs) < 2:
            yield self
            return
        for part in runs:
            survey = copy(self)
            survey.discovered = self.discovered._replace(runs=part)
            survey.run_above = self.run_above  # computed from all runs
            yield survey

    def gathered(self) -> tuple[dict[str, Array], Any, dict[str, RunFacts]]:
        """The data for checks of several runs: columns of files and of series, and facts. The rest may be freed."""
        import numpy as np

        series = self.series_table.select(["run", "tag", "kind", "count"])
        return (
            {name: column.copy() for name, column in self.files.items()},
            series.take(np.arange(len(series))),  # a copy: the core's columns would keep everything in memory
            self.facts,
        )

    def join(self, parts: Sequence[tuple[dict[str, Array], Any, dict[str, RunFacts]]]) -> None:
        """Use the gathered data of all parts as this survey's own: without rows and sessions."""
        import numpy as np
        import pyarrow as pa

        starts = np.cumsum([0, *(len(part) for part in groups(self.runs, MOST_BYTES, MOST_BYTES))])
        files: dict[str, list[Array]] = {name: [] for name in parts[0][0]}
        codes = []
        for start, (columns, series, _) in zip(starts, parts, strict=False):
            for name, column in columns.items():
                files[name].append(column + start if name == "run" else column)
            codes.append(series["run"].combine_chunks().indices.to_numpy() + start)
        runs = pa.array([run.name for run in self.runs], pa.string())
        owners = pa.DictionaryArray.from_arrays(pa.array(np.concatenate(codes).astype(np.int32)), runs)
        rest = pa.concat_tables([series.drop_columns(["run"]) for _, series, _ in parts])
        table = rest.unify_dictionaries().combine_chunks().add_column(0, "run", owners)
        joined: dict[str, Any] = {
            "files": {name: np.concatenate(columns) for name, columns in files.items()},
            "series_table": table,
            "facts": {run: of_run for _, _, facts in parts for run, of_run in facts.items()},
            "series": {"run": owners.indices.to_numpy(), "count": table["count"].to_numpy()},
        }
        vars(self).update(joined)  # in place of the cached properties

    @cached_property
    def result(self) -> Result:
        """All scalars decoded, everything else counted."""
        return _decode.decode(
            self.runs, ["scalars"], self._options, self.unpacked, session_tables=True, verify=True
        )

    @cached_property
    def _folding(self) -> tuple[list[Run], dict[str, list[str]]]:
        folder = SubRunFolder(self.unpacked)
        return folder.fold(self.discovered).runs, folder.below

    @property
    def folded(self) -> list[Run]:
        """The runs with their sub-runs folded in, as in every other view."""
        return self._folding[0]

    @property
    def of_add_hparams(self) -> dict[str, list[str]]:
        """The directories that `add_hparams` created, folded or not, by the run above them."""
        return self._folding[1]

    @cached_property
    def run_above(self) -> dict[str, str]:
        """The run that each folded sub-run is part of."""
        return {sub: run.name for run in self.folded for sub in run.folded}

    @cached_property
    def facts(self) -> dict[str, RunFacts]:
        """The facts that the state of a run depends on, for each directory."""
        totals = totals_of(self.series_table, len(self.runs))
        return facts_of([run.name for run in self.runs], self.result, totals)

    @cached_property
    def reports(self) -> list[FileReport]:
        return self.result.files

    @cached_property
    def files(self) -> dict[str, Array]:
        """One row per file."""
        return _columns(self.result.file_table())

    @cached_property
    def sessions(self) -> dict[str, Array]:
        """One row per session; the sessions of a run are in order."""
        return _columns(self.result.sessions())

    @cached_property
    def segments(self) -> dict[str, Array]:
        """One row per (series, session) that logged it; the segments of a series are in the order of sessions."""
        return _columns(self.result.segments())

    @cached_property
    def paths(self) -> list[str]:
        return [path for run in self.runs for path in run.files]

    def state(self, name: str) -> list[int]:
        """The files in this state."""
        from tbq import _core

        return self.rows(self.files["state"] == _core.file_states().index(name))

    @staticmethod
    def rows(mask: Array) -> list[int]:
        rows: list[int] = mask.nonzero()[0].tolist()
        return rows

    @property
    def unfinished(self) -> Array:
        """For each file, whether it ends inside a record; False if reading failed before its end."""
        mask: Array = (self.files["truncated"] > 0) & (self.files["error"] == 0)
        return mask

    def being_written(self, file: int) -> bool:
        return self._growing(os.fsdecode(self.reports[file].path), self.reports[file].bytes)

    def run_of_file(self, file: int) -> str:
        return self.runs[int(self.files["run"][file])].name

    # ---- series ------------------------------------------------------------------------------------------------

    @cached_property
    def series_table(self) -> Any:
        """One row per series, as an Arrow table."""
        import pyarrow as pa

        return pa.table(self.result.series([run.name for run in self.runs]))

    @cached_property
    def series(self) -> dict[str, Array]:
        """The numeric columns of the series table; `run` is an index."""
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
        """The tag of each series as a code, and the tag of each code."""
        encoded = self.series_table["tag"].combine_chunks().dictionary_encode()
        return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()

    def is_kind(self, *kinds: str) -> Array:
        """For each series, whether it is of any of these kinds."""
        return self._is("kind", kinds)

    def is_dtype(self, *dtypes: str) -> Array:
        return self._is("dtype", dtypes)

    def is_plugin(self, *plugins: str) -> Array:
        return self._is("plugin", plugins)

    def _is(self, column: str, values: tuple[str, ...]) -> Array:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        present = pc.fill_null(self.series_table[column], "")
        if len(present) == 0:
            return np.zeros(0, bool)
        matches = pc.is_in(present, pa.array(values, present.type))
        mask: Array = matches.combine_chunks().to_numpy(zero_copy_only=False)
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
        """All rows of scalars, segment after segment."""
        import pyarrow as pa

        table = pa.table(self.result.scalars([run.name for run in self.runs]))
        return {name: table[name].to_numpy() for name in ("step", "wall_time", "value")}

    @cached_property
    def scalar_segments(self) -> tuple[Array, Array]:
        """Which segments hold scalars, and where the rows of each begin, followed by the end of the last."""
        import numpy as np

        which = self.is_kind("scalars")[self.segments["series"]].nonzero()[0]
        starts = np.concatenate([[0], np.cumsum(self.segments["count"][which])])
        assert starts[-1] == len(self.scalars["step"])
        return which, starts

    @cached_property
    def scalar_series(self) -> tuple[Array, Array]:
        """Which series are scalars, and where the rows of each begin, followed by the end of the last."""
        import numpy as np

        which = self.is_kind("scalars").nonzero()[0]
        return which, np.concatenate([[0], np.cumsum(self.series["count"][which])])

    def rows_of(self, series: int) -> slice:
        """The scalar rows of a series."""
        which, starts = self.scalar_series
        at = int(which.searchsorted(series))
        return slice(int(starts[at]), int(starts[at + 1]))

    @cached_property
    def step_changes(self) -> Array:
        """The change of step from each scalar row to the next; 1 at the border of two segments."""
        import numpy as np

        steps = self.scalars["step"]
        changes = np.diff(steps)
        _, starts = self.scalar_segments
        changes[starts[1:-1] - 1] = 1
        return changes

    @cached_property
    def value_changes(self) -> Array:
        """Whether the value changes from each scalar row to the next (NaN equals NaN)."""
        import numpy as np

        values = self.scalars["value"]
        changes: Array = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
        return changes

    def segments_of_rows(self, rows: Array) -> Array:
        """The segment of each of these scalar rows."""
        import numpy as np

        which, starts = self.scalar_segments
        owners: Array = which[np.searchsorted(starts, rows, side="right") - 1]
        return owners

    def series_of_rows(self, rows: Array) -> Array:
        """The series of each of these scalar rows."""
        import numpy as np

        which, starts = self.scalar_series
        owners: Array = which[np.searchsorted(starts, rows, side="right") - 1]
        return owners

    @cached_property
    def turns(self) -> tuple[Array, Array]:
        """Pairs of segments of a series that follow each other in time: indices of the earlier and the later."""
        series = self.segments["series"]
        later = (series[1:] == series[:-1]).nonzero()[0] + 1
        return later - 1, later

    @cached_property
    def last_sessions(self) -> Array:
        """For each series, the last session that logged it."""
        import numpy as np

        sessions = np.zeros(len(self.series["run"]), np.int64)
        sessions[self.segments["series"]] = self.segments["session"]  # the segments of a series are in order
        return sessions

    @cached_property
    def file_ranks(self) -> Array:
        """For each file, its place in its run when sorted by path, the order in which TensorBoard reads."""
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
        """For each segment, the place of its file when sorted by path."""
        ranks: Array = self.file_ranks[self.sessions["file"][self.segments["session"]]]
        return ranks

    # Which check reports which series, so that each cause gives a single finding.

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
        """Series whose sessions TensorBoard reads in another order than they were written."""
        earlier, later = self.turns
        ranks = self.segment_ranks
        mask = ranks[earlier] > ranks[later]
        return set(self.segments["series"][later[mask]].tolist()) - self.overlapping

    @cached_property
    def resumed(self) -> list[Resumed]:
        """Runs that were resumed from an earlier step, or restarted."""
        from tbq.diagnosis.resumed import resumed

        return resumed(self)

    @cached_property
    def overwritten(self) -> dict[int, int]:
        """Files that two writers wrote over each other, with the offset of the first such place."""
        from tbq.diagnosis.damage import overwritten

        return overwritten(self)


def _columns(stream: object) -> dict[str, np.ndarray[Any, Any]]:
    import pyarrow as pa

    table = pa.table(stream)
    return {name: table[name].to_numpy() for name in table.column_names}
