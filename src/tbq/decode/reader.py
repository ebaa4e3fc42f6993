"""`Reader`: reads the runs of a log, and collects the problems of all reads and the start of each run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tbq import arrow
from tbq.decode import decode
from tbq.decode.options import DecodeOptions, OnError, Restarts
from tbq.decode.problems import Warned, of_logs, of_unpacking, problems_of, tell, unreadable
from tbq.errors import SelectionError
from tbq.problems import SUB_RUNS_HINT
from tbq.progress import Parts, reporting
from tbq.select import Names, Selection
from tbq.source.discover import Found, Run
from tbq.source.files import HELD_BYTES, bytes_of, groups
from tbq.source.inflate import Unpacked
from tbq.text import shown_path

if TYPE_CHECKING:
    import pyarrow as pa
    from arro3.core import Table

    from tbq._core import Result
    from tbq.arrow import Arrow
    from tbq.errors import SourceError
    from tbq.problems import Problem
    from tbq.progress import Progress


class Reader:
    """Reads runs into a `Result` of the core, from which later stages make tables.

    `problems` holds what was lost or dropped in all reads so far, `began` the earliest wall time of each run read so
    far.
    """

    #: whether the table `nodes` already has the layers of Keras models, which otherwise come from `graphs`
    has_layers = False

    def __init__(self, found: Found, unpacked: Unpacked | None = None) -> None:
        self.found = found
        self.unpacked = unpacked or Unpacked()
        self.problems: dict[Problem, None] = dict.fromkeys(found.notices)
        self.began: dict[str, float] = {}
        self.has_read = False
        self.warned: set[Warned] = set()

    @property
    def path(self) -> str:
        """The opened paths, joined by commas."""
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
        """The selected runs; a directory above runs selects all of them."""
        selection = Selection.of(run, "run")
        if selection.everything:
            return self.runs
        try:
            names = set(selection.require(self.names, where=self.path, others=self._tags))
        except SelectionError as nothing:
            if selection.resolve([name for each in self.runs for name in each.folded]).names:
                nothing.hint = f"it is a sub-run of add_hparams, and part of the run above; {SUB_RUNS_HINT}"
            raise
        return [each for each in self.runs if each.name in names]

    def _tags(self) -> list[str]:
        """The tags of all runs, for an error; empty if that would fetch objects."""
        stored = self.stored_overview("tags")
        if stored is not None:
            return names_of(stored)
        if self.found.remote is not None:
            return []
        result, _ = self.read_quietly(self.runs, [], DecodeOptions())
        return names_of(arrow.table_of(result.series(self.names)))

    def settled(self, tags: Selection, runs: Sequence[Run]) -> Selection:
        """The selection for reading these runs in parts: `loss[0]` matches `loss0` only if no run has a tag `loss[0]`.

        Reads all files for that, if the selection has patterns.
        """
        if not tags.names_of_patterns:
            return tags
        result, _ = self.read_quietly(runs, [], DecodeOptions(tag=tags))
        return tags.settled(names_of(arrow.table_of(result.series([run.name for run in runs]))))

    def with_options(self, reading: Mapping[str, Any]) -> Reader:
        """This reader; with `restarts="split"`, a reader whose runs are the sessions."""
        if reading.get("restarts") != "split":
            return self
        from tbq.decode.sessions import split_sessions

        split = split_sessions(self.runs, self.unpacked, reading.get("threads"))
        sessions = Reader(self.found._replace(runs=split), self.unpacked)
        sessions.problems, sessions.began, sessions.warned = self.problems, self.began, self.warned
        return sessions

    def read(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: DecodeOptions,
        on_error: OnError = "warn",
        session_tables: bool = False,
    ) -> Result:
        """Decode, and report problems as `on_error` says; raises if no file can be read."""
        # A strict caller wants to know of all damage, also in data outside the selection.
        result, problems = self.read_quietly(
            runs, kinds, options, verify=on_error == "raise", session_tables=session_tables
        )
        self._refuse(result, runs)
        if on_error == "raise":  # otherwise they were reported when the log was opened
            problems = [*self.found.problems, *problems]
        tell(problems, on_error, self.warned)
        return result

    def read_quietly(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: DecodeOptions,
        verify: bool = False,
        count: bool = False,
        session_tables: bool = False,
    ) -> tuple[Result, list[Problem]]:
        """Decode, and collect the problems; the caller reports them. `session_tables` as in `decode`."""
        result = decode(
            runs, kinds, options, self.unpacked, session_tables=session_tables, verify=verify, count=count
        )
        return result, self.collect(result, runs, options.restarts, count or not kinds)

    def in_groups(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: DecodeOptions,
        on_error: OnError = "warn",
        count: bool = False,
        most: int = HELD_BYTES,
    ) -> Iterator[tuple[list[Run], Result]]:
        """Decode a few runs at a time, so that memory depends on what the caller keeps; reports problems at the end.

        Raises at the end if no file could be read.
        """
        parts = list(groups(runs, most, most, self.size_of))
        failure: SourceError | None = None
        readable = not parts
        reported: list[Problem] = list(self.found.problems) if on_error == "raise" else []
        with reporting(options.progress) as call:
            sizes = [sum(map(self.size_of, part)) if call is not None else 0 for part in parts]
            counts = [sum(len(run.files) for run in part) if call is not None else 0 for part in parts]
            total = Parts(call, sum(sizes), sum(counts))
            for part, size, files in zip(parts, sizes, counts, strict=True):
                part_options = replace(options, progress=total.part(size, files))
                result, problems = self.read_quietly(
                    part, kinds, part_options, verify=on_error == "raise" and not count, count=count
                )
                unread = self.failure(result, part)
                failure, readable = failure or unread, readable or unread is None
                reported += problems
                yield part, result
        if failure is not None and not readable:
            raise failure
        tell(reported, on_error, self.warned)

    def collect(
        self, result: Result, runs: Sequence[Run], restarts: Restarts, counted: bool = False
    ) -> list[Problem]:
        """Collect what a result says about its runs and files; returns its problems. `counted` if no row was stored."""
        self.began.update((runs[run].name, start) for run, start in result.run_starts().items())
        problems = problems_of(result, runs, restarts, counted)
        if self.unpacked.failures:  # these come before the problems that they cause
            unpacking = of_unpacking(self.unpacked.failures, result.files, runs)
            paths = {problem.path for problem in unpacking}
            # A file without a single unpacked byte looks like one that is not an event file.
            problems = unpacking + [
                problem for problem in problems if problem.path not in paths or problem.code != "not_events"
            ]
        problems += of_logs(runs)
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
        """Verify and count everything, store nothing; anew on each call, because a log may grow."""
        options = DecodeOptions(restarts=restarts, threads=threads, progress=progress)
        result, problems = self.read_quietly(self.runs, [], options, count=True)
        self._refuse(result, self.runs)
        tell([*self.found.problems, *problems] if on_error == "raise" else problems, on_error, self.warned)
        return result

    def failure(self, result: Result, runs: Sequence[Run]) -> SourceError | None:
        """The error if no file of these runs could be read."""
        return unreadable(result, runs, self.unpacked.failures)

    def _refuse(self, result: Result, runs: Sequence[Run]) -> None:
        failure = self.failure(result, runs)
        if failure is not None:
            raise failure

    def note(self, problems: Iterable[Problem], on_error: OnError) -> None:
        """Collect problems found after decoding, and report them as `on_error` says."""
        listed = list(problems)
        self.problems.update(dict.fromkeys(listed))
        tell(listed, on_error, self.warned)

    def scalars(self, result: Result, runs: Sequence[Run]) -> Arrow:
        """The scalars of these runs, from a result."""
        return arrow.table_of(result.scalars([run.name for run in runs]))

    def keys(self, result: Result, name: str, runs: Sequence[str]) -> Table:
        """The places of a table's values, without reading them: `run, tag, step, wall_time, bytes`."""
        from tbq import _core

        return arrow.table_of(_core.keys(result, name, runs))

    def values(
        self,
        result: Result,
        name: str,
        runs: Sequence[str],
        rows: Sequence[int] | None,
        columns: Sequence[str] | None,
    ) -> Any:
        """A table of values as an Arrow stream; `rows` are indices into `keys`, `columns` limits the columns."""
        from tbq import _core

        return _core.table(result, name, runs, rows, columns)

    def value_problems(self, result: Result) -> tuple[list[tuple[str, int, str, int, int, int, str]], int]:
        """The problems of values since the last call, and the number of unlisted ones."""
        from tbq import _core

        return _core.value_problems(result)

    def size_of(self, run: Run) -> int:
        """The approximate number of bytes to read for a run."""
        return bytes_of(run)

    def stored_overview(self, _kind: str) -> pa.Table | None:
        """A table about the log, if it is available without reading all files."""
        return None

    def require(self, tags: Selection, known: list[str], result: Result, kind: str = "scalars") -> list[str]:
        """The selected tags among `known`; if none remains, the error names the kind of the tag."""
        from tbq import _core

        try:
            return tags.require(known, where=self.path, others=lambda: self.names)
        except SelectionError as nothing:
            for other in _core.kinds():
                if other != kind and tags.resolve(result.tags(other)).names:
                    raise SelectionError(
                        f"{nothing.message}; the tag is of kind {other}, not {kind}",
                        path=self.path,
                        hint=f"log.{other}(), or --kind {other}",
                    ) from None
            if not known:
                nothing.hint = "no tag here has data of this kind; tbq tags lists all"
            raise


def names_of(table: Arrow) -> list[str]:
    """The tags in a table."""
    return list(dict.fromkeys(arrow.values_of(table["tag"])))


def table_of(stream: object) -> pa.Table:
    """A stream from the core as pyarrow's table, for computing with it."""
    return arrow.to_pyarrow(stream)
