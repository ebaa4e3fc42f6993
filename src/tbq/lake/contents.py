"""The contents of a lake: its tables, opened on first use, and its runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tbq.columns.codes import values_of
from tbq.lake import scan
from tbq.lake.layout import DROPPED, RUN_FACTS, lake_schema
from tbq.lake.tables import LakeTable, require_deltalake
from tbq.schema import schema
from tbq.source.discover import Run

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.lake.location import Location


class Contents:
    """The tables of a lake, each as of its first use."""

    def __init__(self, place: Location) -> None:
        self._place = place
        self._folders = set(place.folders())
        self._tables: dict[str, LakeTable] = {}

    def table(self, kind: str) -> LakeTable:
        """One of the tables."""
        if kind not in self._tables:
            require_deltalake()
            self._tables[kind] = LakeTable(self._place, kind, kind in self._folders)
        return self._tables[kind]

    def overview(self, kind: str) -> pa.Table:
        """A table about the log."""
        wanted = schema(kind)
        stored = lake_schema(kind).names
        table = scan.rows(self.table(kind), [name for name in wanted.names if name in stored])
        if kind == "runs":
            import pyarrow as pa

            from tbq.lake.facts import with_states_now

            table = table.append_column(
                wanted.field("state"), pa.nulls(len(table), wanted.field("state").type)
            )
            table = with_states_now(table, scan.rows(self.table(RUN_FACTS), ordered=False))
        return table

    @cached_property
    def runs(self) -> dict[str, tuple[int, float | None]]:
        """The total bytes of each run's files, and when the run began."""
        table = scan.rows(self.table("runs"), ["run", "bytes", "first_wall_time"])
        columns = (table[name].to_pylist() for name in ("bytes", "first_wall_time"))
        return dict(zip(values_of(table["run"]), zip(*columns, strict=True), strict=True))

    @cached_property
    def tags(self) -> pa.Table:
        """What was logged, one row per run and tag."""
        return self.overview("tags")

    @cached_property
    def tags_and_kinds(self) -> pa.Table:
        """Runs, tags and kinds in any order, including those that restarts left without rows."""
        import pyarrow as pa

        every = scan.rows(self.table("tags"), ["run", "tag", "kind"], ordered=False)
        return pa.concat_tables([every, self.dropped]).unify_dictionaries() if len(self.dropped) else every

    @cached_property
    def dropped(self) -> pa.Table:
        """Runs, tags and kinds that restarts left without rows."""
        return scan.rows(self.table(DROPPED), ["run", "tag", "kind"])

    @cached_property
    def files(self) -> dict[str, list[str]]:
        """The event files of each run."""
        table = self.overview("files")
        files: dict[str, list[str]] = {}
        for run, path in zip(values_of(table["run"]), table["path"].to_pylist(), strict=True):
            files.setdefault(run, []).append(path)
        return files


class Runs(Sequence[Run]):
    """The runs of a lake, read on first use. Reading one tag of all runs does not need them."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    @cached_property
    def _runs(self) -> list[Run]:
        return [Run(name, "", Files(self._contents, name)) for name in self._contents.runs]  # type: ignore[arg-type]

    def __getitem__(self, index: Any) -> Any:
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._contents.runs)


class Began(Mapping[str, float]):
    """The start time of each run, read on first use."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def __getitem__(self, run: str) -> float:
        start = self._contents.runs[run][1]
        if start is None or not math.isfinite(start):
            raise KeyError(run)
        return start

    def __iter__(self) -> Iterator[str]:
        return (run for run in self._contents.runs if run in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Files(Sequence[str]):
    """The event files of a run, read on first use."""

    def __init__(self, contents: Contents, run: str) -> None:
        self._contents, self._run = contents, run

    def __getitem__(self, index: Any) -> Any:
        return self._contents.files.get(self._run, [])[index]

    def __len__(self) -> int:
        return len(self._contents.files.get(self._run, []))
