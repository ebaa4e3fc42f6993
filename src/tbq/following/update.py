"""`Update`: the result of one poll of a log directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tbq.text import counted, some

if TYPE_CHECKING:
    from tbq.problems import Problem
    from tbq.table.table import Table


class RunChanges(NamedTuple):
    """The names of runs that changed; each name is in one list.

    >>> tbq.follow("runs").poll().runs.new[:2]
    ['diverged', 'lr=0.01/seed=0']
    """

    #: runs that did not exist before
    new: list[str]
    #: runs with more bytes, or another file
    grown: list[str]
    #: runs with a file that was truncated, replaced or deleted, or became readable or unreadable
    replaced: list[str]
    #: runs that no longer exist
    gone: list[str]


class Tables(Mapping[str, "Table"]):
    """The tables with new rows, by name. A table is made at its first use."""

    def __init__(self, rows: Mapping[str, int], make: Callable[[str], Table]) -> None:
        self._rows = rows
        self._make = make
        self._made: dict[str, Table] = {}

    def table(self, kind: str) -> Table:
        """The new rows of this table, if any."""
        if kind not in self._made:
            self._made[kind] = self._make(kind)
        return self._made[kind]

    def __getitem__(self, kind: str) -> Table:
        if kind not in self._rows:
            raise KeyError(kind)
        return self.table(kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return (
            "{" + ", ".join(f"{kind!r}: {counted(rows, 'value')}" for kind, rows in self._rows.items()) + "}"
        )


class Update:
    """What is new since the last poll; false if nothing is.

    `tables` has the new rows by kind; large values are read from their files when a table is made. `runs` lists the
    runs that are new, grown, replaced or gone. `problems` lists what was lost, each problem once.
    """

    def __init__(
        self,
        tables: Tables,
        retracted: Callable[[], pa.Table],
        retracted_count: int,
        runs: RunChanges,
        problems: list[Problem],
        left: int = 0,
    ) -> None:
        self.tables: Tables = tables
        self.runs = runs
        self.problems = problems
        #: bytes that the next poll will read
        self.left = left
        self._retracted = retracted
        self._retracted_count = retracted_count

    def table(self, kind: str = "scalars") -> Table:
        """The new rows of one kind; an empty table if there are none.

        >>> update = tbq.follow("runs").poll()
        >>> update.table("texts").columns
        ['run', 'tag', 'step', 'wall_time', 'index', 'text']
        """
        return self.tables.table(kind)

    @cached_property
    def retracted_rows(self) -> Table:
        """Rows of earlier updates that no longer count: `run, tag, kind, step, wall_time, value`.

        A restart replaced them, or their file was truncated, replaced or deleted. Only scalars have a `value`.

        >>> len(tbq.follow("runs").poll().retracted_rows)
        0
        """
        from tbq.table.table import Table

        return Table(self._retracted(), "retracted")

    @cached_property
    def retracted(self) -> Table:
        """The retracted rows as one row per run, tag and kind.

        >>> tbq.follow("runs").poll().retracted.columns
        ['run', 'tag', 'kind', 'first_step', 'count']
        """
        from tbq.columns.codes import values_of
        from tbq.table.table import Table

        rows = self.retracted_rows.to_arrow()
        groups: dict[tuple[str, str, str], list[int]] = {}
        columns = (values_of(rows[name]) for name in ("run", "tag", "kind", "step"))
        for run, tag, kind, step in zip(*columns, strict=True):
            group = groups.setdefault((run, tag, kind), [step, 0])
            group[0] = min(group[0], step)
            group[1] += 1
        label = rows.schema.field("run").type
        data = [(*key, *group) for key, group in groups.items()]
        names = {"run": label, "tag": label, "kind": label, "first_step": pa.int64(), "count": pa.int64()}
        arrays = [pa.array([row[i] for row in data], kind) for i, kind in enumerate(names.values())]
        return Table(pa.table(dict(zip(names, arrays, strict=True))), "retracted")

    def __bool__(self) -> bool:
        return bool(self.tables or any(self.runs) or self.problems or self._retracted_count)

    def __repr__(self) -> str:
        parts = [f"{rows:,} {kind}" for kind, rows in self.tables._rows.items()]
        if self._retracted_count:
            parts.append(f"{self._retracted_count:,} retracted")
        parts += [
            f"{counted(len(runs), 'run')} {what}"
            for what, runs in zip(RunChanges._fields, self.runs, strict=True)
            if runs
        ]
        if self.problems:
            parts.append(counted(len(self.problems), "problem"))
        return f"<tbq.Update: {', '.join(parts) or 'nothing new'}>"

    def _repr_html_(self) -> str:
        from tbq.table.draw import page

        rows = [(f"new {kind}", count, "") for kind, count in self.tables._rows.items()]
        rows += [("retracted rows", self._retracted_count, "")] * (self._retracted_count > 0)
        for what, runs in zip(RunChanges._fields, self.runs, strict=True):
            rows += [(f"{what} runs", len(runs), some(runs))] * bool(runs)
        rows += [(f"problem {each.code}", 1, str(each)) for each in self.problems]
        columns = zip(*rows, strict=True) if rows else ([], [], [])
        kinds = (pa.string(), pa.int64(), pa.string())
        arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
        return page(pa.table(dict(zip(("what", "count", "which"), arrays, strict=True))), "update")
