"""A lake as a log: a `Reader` that answers from the lake's tables instead of event files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tbq.arrow import table_of
from tbq.columns.codes import values_of
from tbq.decode.reader import Reader
from tbq.errors import UsageError
from tbq.lake.contents import Began, Contents, Runs
from tbq.lake.layout import OVERVIEWS
from tbq.lake.result import LakeResult
from tbq.problems import LAKE_RESTART_HINT, Problem
from tbq.schema import schema
from tbq.source.discover import Found, Run
from tbq.source.inflate import Unpacked

if TYPE_CHECKING:
    import pyarrow as pa
    from arro3.core import Table

    from tbq.decode.options import DecodeOptions, OnError
    from tbq.errors import SourceError
    from tbq.lake.location import Location


class LakeReader(Reader):
    """Reads the tables of a lake, each as of its first use."""

    has_layers = True

    def __init__(self, place: Location) -> None:
        self.contents = Contents(place)
        # The same attributes as in Reader, but read from a table on first use.
        self.found = Found([place.url], Runs(self.contents))  # type: ignore[arg-type]
        self.began = Began(self.contents)  # type: ignore[assignment]
        self.has_read = True
        self.warned = set()

    @cached_property
    def unpacked(self) -> Unpacked:  # type: ignore[override]
        """Unused: a lake has no compressed event files."""
        return Unpacked()

    @cached_property
    def problems(self) -> dict[Problem, None]:  # type: ignore[override]
        """The rows of the lake's table of problems."""
        if not self.contents.table("problems").exists:
            return {}
        fields = schema("problems").names
        table = self.contents.overview("problems")
        rows = zip(*(values_of(table[name]) for name in fields), strict=True)
        problems = [Problem(**dict(zip(fields, row, strict=True))) for row in rows]
        return {
            replace(problem, hint=LAKE_RESTART_HINT) if problem.code == "restart" else problem: None
            for problem in problems
        }

    @property
    def names(self) -> list[str]:
        return list(self.contents.runs)

    def stored_overview(self, kind: str) -> pa.Table | None:
        if kind == "projector":  # it is read from files beside the event files, which a lake does not have
            return schema(kind).empty_table()
        return self.contents.overview(kind) if kind in OVERVIEWS else None

    def size_of(self, run: Run) -> int:
        return int(self.contents.runs[run.name][0])

    def with_options(self, reading: Mapping[str, Any]) -> Reader:
        _refuse_policy(reading.get("restarts", "resume"))
        return self

    def read_quietly(
        self,
        runs: Sequence[Run],
        kinds: Sequence[str],
        options: DecodeOptions,
        verify: bool = False,
        count: bool = False,
        session_tables: bool = False,
    ) -> tuple[Any, list[Problem]]:
        _refuse_policy(options.restarts)
        problems = list(self.problems)
        if problems and runs is not self.runs:
            names = {run.name for run in runs}
            problems = [problem for problem in problems if problem.run is None or problem.run in names]
        return LakeResult(self.contents, None if runs is self.runs else runs, options), problems

    def failure(self, result: Any, runs: Sequence[Run]) -> SourceError | None:
        return None

    def note(self, problems: Iterable[Problem], on_error: OnError) -> None:
        """Does nothing: the lake already lists the problems of its values."""

    def scalars(self, result: Any, runs: Sequence[Run]) -> pa.Table:
        return result.scalars()

    def keys(self, result: Any, name: str, runs: Sequence[str]) -> Table:
        return table_of(result.values(name).keys)

    def values(
        self,
        result: Any,
        name: str,
        runs: Sequence[str],
        rows: Sequence[int] | None,
        columns: Sequence[str] | None,
    ) -> Any:
        return result.values(name).read(rows, columns)

    def value_problems(self, result: Any) -> tuple[list[Any], int]:
        return [], 0


def _refuse_policy(restarts: str) -> None:
    if restarts != "resume":
        raise UsageError(
            f"restarts={restarts!r}: a lake has only the rows that restarts='resume' keeps",
            hint="tbq.open(LOGDIR) reads the event files themselves",
        )
