"""`Reader`: reads the runs of a log, and keeps the problems of all readings and when runs began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tbq.decode import decode
from tbq.decode.options import OnError, Options, Restarts
from tbq.decode.problems import of_unpacking, problems_of, tell, unreadable
from tbq.errors import SelectionError
from tbq.progress import Parts, reporting
from tbq.select import Names, Selection
from tbq.source.discover import Found, Run
from tbq.source.files import HELD_BYTES, bytes_of, groups
from tbq.source.inflate import Unpacked
from tbq.text import shown_path

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq._core import Result
    from tbq.errors import SourceError
    from tbq.problems import Problem
    from tbq.progress import Progress


class Reader:
    """Reads runs into a `Result` of the core; the stages after this one make tables of that.

    `problems` has what was lost or dropped in all readings so far, `began` the earliest wall time of each run that was
    read.
    """

    #: whether the table `nodes` has the layers of Keras models already, which are read from `graphs` otherwise
    has_layers = False

    def __init__(self, found: Found, unpacked: Unpacked | None = None) -> None:
        self.found = found
        self.unpacked = unpacked or Unpacked()
        self.problems: dict[Problem, None] = dict.fromkeys(found.notices)
        self.began: dict[str, float] = {}
        self.has_read = False

    @property
    def path(self) -> str:
        """The paths that were opened, joined by commas."""
        return ", ".join(map(shown_path, self.found.paths))

    @property
    def runs(self) -> list[Run]:
        """Every run."""
        return self.found.runs

    @property
    def names(self) -> list[str]:
        """The name of every run, sorted."""
        return [run.name for run in self.found.runs]

    def choose(self, run: Names) -> list[Run]:
        """The runs that a selection takes; a directory above runs takes all of them."""
        selection = Selection.of(run, "run")
        if selection.everything:
            return self.runs
        names = set(selection.require(self.names, where=self.path))
        return [each for each in self.runs if each.name in names]

    def settled(self, tags: Selection, runs: Sequence[Run]) -> Selection:
        """The selection for reading these runs in parts: `loss[0]` takes `loss0` only if no run has a tag `loss[0]`.

        All files are read for that, if the selection has patterns.
        """
        if not tags.names_of_patterns:
            return tags
        result, _ = self.read_quietly(runs, [], Options(tag=tags))
        series = table_of(result.series([run.name for run in runs]))
        return tags.settled(series["tag"].unique().to_pylist())

    def given(self, reading: Mapping[str, Any]) -> Reader:
        """This reader; with `restarts="split"` one whose runs are the sessions."""
        if reading.get("restarts") != "split":
            return self
        from tbq.decode.sessions import split_sessions

        split = split_sessions(self.runs, self.unpacked, reading.get("threads"))
        sessions = Reader(replace(self.found, runs=split), self.unpacked)
        sessions.problems, sessions.began = self.problems, self.began
        return sessions

    def read(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: Options,
        on_error: OnError = "warn",
        session_tables: bool = False,
    ) -> Result:
        """Decode, and report problems as `on_error` says; raises if no file can be read."""
        # Who wants to fail at damage wants to know of all of it, also in what is not asked for.
        result, problems = self.read_quietly(
            runs, kinds, options, verify=on_error == "raise", session_tables=session_tables
        )
        self._refuse(result, runs)
        if on_error == "raise":  # else they were reported when the log was opened
            problems = [*self.found.problems, *problems]
        tell(problems, on_error)
        return result

    def read_quietly(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: Options,
        verify: bool = False,
        count: bool = False,
        session_tables: bool = False,
    ) -> tuple[Result, list[Problem]]:
        """Decode, and note the problems; the caller reports them. `session_tables` as `decode` has it."""
        result = decode(
            runs, kinds, options, self.unpacked, session_tables=session_tables, verify=verify, count=count
        )
        return result, self.collect(result, runs, options.restarts, count or not kinds)

    def in_groups(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: Options,
        on_error: OnError = "warn",
        count: bool = False,
        most: int = HELD_BYTES,
    ) -> Iterator[tuple[list[Run], Result]]:
        """Decode a few runs at a time, so that memory follows what the caller keeps; problems are reported at the end.

        Raises at the end if no file could be read.
        """
        parts = list(groups(runs, most, most, self.size_of))
        failure: SourceError | None = None
        readable = not parts
        told: list[Problem] = list(self.found.problems) if on_error == "raise" else []
        with reporting(options.progress) as call:
            sizes = [sum(map(self.size_of, part)) if call is not None else 0 for part in parts]
            counts = [sum(len(run.files) for run in part) if call is not None else 0 for part in parts]
            total = Parts(call, sum(sizes), sum(counts))
            for part, size, files in zip(parts, sizes, counts, strict=True):
                given = replace(options, progress=total.part(size, files))
                result, problems = self.read_quietly(
                    part, kinds, given, verify=on_error == "raise" and not count, count=count
                )
                unread = self.failure(result, part)
                failure, readable = failure or unread, readable or unread is None
                told += problems
                yield part, result
        if failure is not None and not readable:
            raise failure
        tell(told, on_error)

    def collect(
        self, result: Result, runs: Sequence[Run], restarts: Restarts, counted: bool = False
    ) -> list[Problem]:
        """Keep what a result says of its runs and files; the problems of it. `counted` if no row was stored."""
        self.began.update((runs[run].name, start) for run, start in result.run_starts().items())
        problems = problems_of(result, runs, restarts, counted)
        if self.unpacked.failures:  # before what follows from them
            unpacking = of_unpacking(self.unpacked.failures, result.files, runs)
            paths = {problem.path for problem in unpacking}
            # A file of which not a byte could be unpacked looks like one that is not an event file.
            problems = unpacking + [
                problem for problem in problems if problem.path not in paths or problem.code != "not_events"
            ]
        self.problems.update(dict.fromkeys(problems))
        self.has_read = True
        return problems

    def survey(
        self,
        restarts: Restarts = "resume",
        threads: int | None = None,
        progress: Progress | None = None,
        on_error: OnError = "ignore",
    ) -> Result:
        """Everything verified and counted, nothing stored; anew each time, since a log may grow."""
        options = Options(restarts=restarts, threads=threads, progress=progress)
        result, problems = self.read_quietly(self.runs, [], options, count=True)
        self._refuse(result, self.runs)
        tell([*self.found.problems, *problems] if on_error == "raise" else problems, on_error)
        return result

    def failure(self, result: Result, runs: Sequence[Run]) -> SourceError | None:
        """The error if not one file of these runs could be read."""
        return unreadable(result, runs, self.unpacked.failures)

    def _refuse(self, result: Result, runs: Sequence[Run]) -> None:
        failure = self.failure(result, runs)
        if failure is not None:
            raise failure

    def note(self, problems: Iterable[Problem], on_error: OnError) -> None:
        """Keep problems that turned up after decoding, and report them as `on_error` says."""
        listed = list(problems)
        self.problems.update(dict.fromkeys(listed))
        tell(listed, on_error)

    def scalars(self, result: Result, runs: Sequence[Run]) -> pa.Table:
        """The scalars of a result of these runs."""
        return table_of(result.scalars([run.name for run in runs]))

    def keys(self, result: Result, name: str, runs: Sequence[str]) -> pa.Table:
        """Where the values of a table are, none of them read: `run, tag, step, wall_time, bytes`."""
        from tbq import _core

        return table_of(_core.keys(result, name, runs))

    def values(
        self,
        result: Result,
        name: str,
        runs: Sequence[str],
        rows: Sequence[int] | None,
        columns: Sequence[str] | None,
    ) -> pa.RecordBatchReader:
        """A table of values batch by batch; `rows` picks from what `keys` lists, `columns` leaves out others."""
        import pyarrow as pa

        from tbq import _core

        return pa.RecordBatchReader.from_stream(_core.table(result, name, runs, rows, columns))

    def value_problems(self, result: Result) -> tuple[list[tuple[str, int, str, int, int, int, str]], int]:
        """What was wrong with values since the last call, and how many more there were."""
        from tbq import _core

        return _core.value_problems(result)

    def size_of(self, run: Run) -> int:
        """How many bytes there are to read of a run, about."""
        return bytes_of(run)

    def stored_overview(self, _kind: str) -> pa.Table | None:
        """A table about the log, if it need not be made by reading all files."""
        return None

    def require(self, tags: Selection, known: list[str], result: Result, kind: str = "scalars") -> list[str]:
        """The tags selected among `known`; if none is left, the error says of what kind the tag is."""
        from tbq import _core

        try:
            return tags.require(known, where=self.path)
        except SelectionError as nothing:
            for other in _core.kinds():
                if other != kind and tags.resolve(result.tags(other)).names:
                    raise SelectionError(
                        f"{nothing.message}; that tag is of kind {other}, not {kind}",
                        path=self.path,
                        hint=f"log.{other}(), or --kind {other}",
                    ) from None
            raise


def table_of(stream: object) -> pa.Table:
    """The Arrow table of a stream of the core.

    Without a RecordBatchReader: if Python ends while a daemon thread lets go of one, pyarrow aborts the process.
    """
    import pyarrow as pa

    rows = pa.chunked_array(stream)
    return pa.Table.from_struct_array(rows) if rows.num_chunks else pa.schema(list(rows.type)).empty_table()
