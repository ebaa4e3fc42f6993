"""`tbq.open` and `LogDir`: the runs below a path, and the tables that their event files hold."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Unpack, cast

from tbq import decode as _decode
from tbq import problems as _problems
from tbq.arguments import keywords
from tbq.errors import SelectionError, SourceError, TbqWarning, UsageError
from tbq.kinds import Kinds
from tbq.names import shown_path
from tbq.printable import shell_word
from tbq.query import Queries
from tbq.select import Names, Selection, Steps
from tbq.select import steps as _steps
from tbq.source import Found, Run, discover
from tbq.source.discover import find, sources
from tbq.source.inflate import Unpacked

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tbq._core import Result, Stream
    from tbq.kinds.values import Reading
    from tbq.limits import Size
    from tbq.problems import Problem
    from tbq.progress import Progress
    from tbq.results.opened import MetricsAsEvents
    from tbq.table import Table

Path = str | os.PathLike[str]
Source = Path | Sequence[Path] | Mapping[str, Path]


class Series(NamedTuple):
    """One scalar tag of one run, as arrays of one length."""

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]


def open(path: Source, *, max_unpacked: Size | None = None) -> LogDir:  # noqa: A001 - tbq.open, as users read it
    """Look for event files below a directory; or take a file, a glob, `name:path`, a list of those, or {name: path}.

    Nothing is decoded before a table is asked for. A file of metrics (Keras' or Lightning's CSV, `trainer_state.json`
    and others that `tbq.results.metrics` reads) is taken too, where it is named itself.

    `max_unpacked` is the most that a compressed event file may unpack to, in bytes or with a unit ("4GB"); without it
    a hundred times its size, and 256 MiB more for all of them. What is past that is not read, and is in `problems`.

    >>> log = open("runs")                              # doctest: +SKIP
    >>> log.scalars(tag="loss").to_pandas()             # doctest: +SKIP
    """
    unpacked = Unpacked(max_unpacked)
    named = sources(path)
    items = _metrics_as_events(named)
    found = find(named) if items is None else discover(items.paths)
    if not found.runs:
        raise _nothing(found)
    for problem in found.problems:
        warnings.warn(str(problem), TbqWarning, stacklevel=2)
    log = LogDir(found, unpacked)
    if items is not None:
        weakref.finalize(log, items.remove)
    return log


def _metrics_as_events(named: list[tuple[str | None, str]]) -> MetricsAsEvents | None:
    """The source with each file of metrics replaced; None where there is none, which costs no import."""
    endings = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".log")
    if not any(one.lower().endswith(endings) for _, one in named):
        return None
    from tbq.results.opened import MetricsAsEvents

    return MetricsAsEvents.of(named)


def _nothing(found: Found) -> SourceError:
    path = ", ".join(map(shown_path, found.paths))
    unreadable = next(iter(found.problems), None)
    if unreadable is not None:
        return SourceError(unreadable.message, path=unreadable.path, code="unreadable")
    others = (
        f"none of its {found.others:,} files is one" if found.others > 1 else "the one file in it is none"
    )
    what = others if found.others else "there is no file in it"
    return SourceError(
        f"no event files here: {what}",
        path=path,
        hint="event files have 'tfevents' in their name; `tbq doctor` looks for them nearby",
        code="no_event_files",
    )


class LogDir(Kinds, Queries):
    """The runs found below a path. Made by `tbq.open`."""

    def __init__(self, found: Found, unpacked: Unpacked | None = None) -> None:
        self._found = found
        self._unpacked = unpacked or Unpacked()
        self._problems: dict[Problem, None] = dict.fromkeys(found.problems)
        self._decoded = False
        #: when each run that was read so far began: its earliest wall time
        self._began: dict[str, float] = {}

    @property
    def path(self) -> str:
        """Where it was opened: the paths that were given, joined by commas."""
        return ", ".join(map(shown_path, self._found.paths))

    @property
    def runs(self) -> list[str]:
        """The names of the runs, sorted."""
        return [run.name for run in self._found.runs]

    @property
    def files(self) -> list[str]:
        """The paths of the event files, run by run."""
        return [path for run in self._found.runs for path in run.files]

    @property
    def problems(self) -> list[Problem]:
        """What was lost or dropped in what has been read so far; reads everything once if nothing was."""
        if not self._decoded:
            self._survey()
        return list(self._problems)

    def __repr__(self) -> str:
        runs = self._found.runs
        return (
            f"<tbq.LogDir {self.path!r}: {len(runs):,} runs, {sum(len(run.files) for run in runs):,} files>"
        )

    def scalars(
        self,
        run: Names = None,
        tag: Names = None,
        steps: Steps = None,
        restarts: str = "resume",
        threads: int | None = None,
        progress: Progress | None = None,
        on_error: str = "warn",
    ) -> Table:
        """Every scalar: a row a value, columns `run, tag, step, wall_time, value`.

        `run` and `tag` take names, globs, `re:` expressions or lists of them; `steps` includes both ends.
        `restarts` is "resume", "keep", "last" or "tensorboard"; `on_error` "warn", "raise" or "ignore".
        """
        from tbq.table import Table

        chosen = self._choose(run)
        tags = Selection.of(tag)
        options = _decode.Options(
            tag=tags, steps=_steps(steps), restarts=restarts, threads=threads, progress=progress
        )
        result = self._decode(chosen, ["scalars"], options, on_error)
        arrow = _arrow(result.scalars([one.name for one in chosen]))
        if tags.everything:
            return Table(arrow, "scalars", logdir=self.path, began=self._began)
        known = result.tags("scalars")
        names = self._require(tags, known, result)
        if any(
            name not in names for name in known if tags.matches(name)
        ):  # `loss[0]` was a name, not a pattern
            import pyarrow as pa
            import pyarrow.compute as pc

            arrow = arrow.filter(pc.is_in(arrow["tag"].cast(pa.string()), pa.array(names, pa.string())))
        return Table(arrow, "scalars", tags=tags.columns(known), logdir=self.path, began=self._began)

    def series(
        self, tag: str, run: str | None = None, steps: Steps = None, restarts: str = "resume"
    ) -> Series:
        """One scalar tag of one run as NumPy arrays: steps, wall_times, values."""
        table = self.scalars(run=run, tag=tag, steps=steps, restarts=restarts).to_arrow()
        for name, kind in (("run", "runs"), ("tag", "tags")):
            found = sorted(table[name].unique().to_pylist())
            if len(found) > 1:
                shown = ", ".join(found[:5]) + (" …" if len(found) > 5 else "")
                raise SelectionError(
                    f"{len(found):,} {kind} match, want one: {shown}",
                    hint=f"name one, e.g. {name}={found[0]!r}, --{name} {shell_word(found[0])}",
                )
        return Series(*(table[name].to_numpy() for name in ("step", "wall_time", "value")))

    def tags(self, run: Names = None, tag: Names = None) -> Table:
        """What was logged: a row a (run, tag), with its kind, count and steps. No value is stored for it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from tbq.schema import schema
        from tbq.table import Table

        series = _arrow(self._survey().series(self.runs))
        # A tag of which a restart left nothing has no rows in any table.
        table = (
            series.filter(pc.greater(series["count"], 0)).select(schema("tags").names).cast(schema("tags"))
        )
        for name, spec in (("run", run), ("tag", tag)):
            chosen = Selection.of(spec, name)
            if not chosen.everything:
                names = chosen.require(table[name].unique().to_pylist(), where=self.path)
                table = table.filter(pc.is_in(table[name].cast(pa.string()), pa.array(names, pa.string())))
        return Table(table, "tags", logdir=self.path)

    def table(
        self,
        name: str,
        run: Names = None,
        tag: Names = None,
        steps: Steps = None,
        **reading: Unpack[Reading],
    ) -> Table:
        """A table by its name: "scalars", "images", "tags", "runs", "problems", … (`tbq.schema.KINDS` has all)."""
        from tbq import _core, overview
        from tbq.kinds import projector
        from tbq.kinds.values import READING
        from tbq.problems import to_arrow
        from tbq.schema import schema
        from tbq.table import Table

        wanted = schema(name)
        keywords("log.table", reading, ("run", "tag", "steps", *READING))
        if name == "scalars":
            return self.scalars(run, tag, steps, **reading)
        if name in _core.tables():
            return cast("Table", self._table(name, run, tag, steps, reading))
        if name == "tags":
            return self.tags(run, tag)
        if name == "problems":
            return Table(to_arrow(self.problems), name, logdir=self.path)
        if name == "projector":
            return Table(projector.table(self._choose(run), wanted), name, logdir=self.path)
        if name not in ("runs", "files"):
            raise UsageError(
                f"{name} is no table of a log", hint="log.media(out) makes it, and the files it lists"
            )
        survey = self._survey()
        if name == "runs":
            series = _arrow(survey.series(self.runs))
            table = overview.runs(self._found.runs, survey.files, series, wanted)
        else:
            table = overview.files(self._found.runs, survey.files, wanted)
        chosen = _of_runs(table, [one.name for one in self._choose(run)])
        return Table(chosen, name, logdir=self.path, began=self._began)

    def tables(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> dict[str, Table]:
        """Every table of values that has rows, by name, from two readings of the files."""
        from tbq import _core
        from tbq.kinds import table_of
        from tbq.kinds.values import READING, locate_all

        keywords("log.tables", reading, ("run", "tag", "steps", *READING))
        out: dict[str, Table] = {}
        quiet: Reading = {**reading, "on_error": "ignore"}  # the same files again
        others = locate_all(self, ["scalars", *_core.tables()], run, tag, steps, **reading)
        if others.pop("scalars", None) is not None:
            out["scalars"] = self.scalars(run, tag, steps, **quiet)
        for name, values in others.items():
            out[name] = table_of(values.arrow(), name, self.path, self._began)
        return {name: table for name, table in out.items() if len(table)}

    def _survey(self) -> Result:
        """Everything verified and counted, nothing stored; anew each time, since a log may grow."""
        result, _ = self._decode_quietly(self._found.runs, [], _decode.Options(), count=True)
        _decode.refuse_unreadable(result, self._found.runs)
        return result

    def _choose(self, run: Names) -> list[Run]:
        chosen = Selection.of(run, "run")
        if chosen.everything:
            return self._found.runs
        names = set(chosen.require(self.runs, where=self.path))
        return [one for one in self._found.runs if one.name in names]

    def _decode_quietly(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: _decode.Options,
        verify: bool = False,
        count: bool = False,
    ) -> tuple[Result, list[Problem]]:
        """Decode, and note the problems; to tell of them is left to the caller."""
        result = _decode.decode(runs, kinds, options, self._unpacked, verify=verify, count=count)
        self._began.update((runs[run].name, start) for run, start in result.run_starts().items())
        found = _decode.problems_of(result, runs, options.restarts)
        if self._unpacked.failures:  # before what follows from them
            unpacking = _problems.of_unpacking(self._unpacked.failures, result.files, runs)
            paths = {problem.path for problem in unpacking}
            # A file of which not a byte could be unpacked looks like one that is not an event file.
            found = unpacking + [one for one in found if one.path not in paths or one.code != "not_events"]
        self._problems.update(dict.fromkeys(found))
        self._decoded = True
        return result, found

    def _decode(
        self, runs: Sequence[Run], kinds: Sequence[str], options: _decode.Options, on_error: str
    ) -> Result:
        # Who wants to fail at damage wants to know of all of it, also in what is not asked for.
        result, found = self._decode_quietly(runs, kinds, options, verify=on_error == "raise")
        _decode.refuse_unreadable(result, runs, self._unpacked.failures)
        if on_error == "raise":  # else it was told when the log was opened
            found = [*self._found.problems, *found]
        _decode.tell(found, on_error)
        return result

    def _note(self, found: Sequence[Problem], on_error: str) -> None:
        self._problems.update(dict.fromkeys(found))
        _decode.tell(found, on_error)

    def _require(self, tags: Selection, known: list[str], result: Result, kind: str = "scalars") -> list[str]:
        """The tags selected among `known`; where none is left, the error says of what kind the tag is."""
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


def _arrow(stream: Stream) -> pa.Table:
    import pyarrow as pa

    return pa.table(stream)


def _of_runs(table: pa.Table, runs: list[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    return table.filter(pc.is_in(table["run"].cast(pa.string()), pa.array(runs, pa.string())))
