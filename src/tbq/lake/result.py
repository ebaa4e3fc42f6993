"""The interface of the core's `Result`, backed by the tables of a lake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import begins, codes_of, names_in, numbers, starts_of, values_of
from tbq.lake import scan
from tbq.lake.layout import ROW, SEVERAL
from tbq.lake.rows import SESSION
from tbq.schema import schema

if TYPE_CHECKING:
    from tbq.decode.options import DecodeOptions
    from tbq.lake.contents import Contents
    from tbq.select import Selection
    from tbq.source import Run


class LakeResult:
    """Offers the interface of the core's `Result` for some runs of a lake."""

    def __init__(self, contents: Contents, runs: Sequence[Run] | None, options: DecodeOptions) -> None:
        """`runs=None` means all runs."""
        self._contents = contents
        self._runs = None if runs is None or len(runs) == len(contents.runs) else {run.name for run in runs}
        self._options = options
        self._values: dict[str, LakeValues] = {}
        self._found: dict[str, list[str]] = {}  # kind → the tags selected by name, if all of them exist

    files: Sequence[Any] = ()
    file_count = 0

    def troubled(self) -> list[Any]:
        return []

    def notable(self) -> list[Any]:
        return []

    @cached_property
    def _tags(self) -> pa.Table:
        from tbq.columns.rows import having

        every = self._contents.tags
        return every if self._runs is None else having(every, "run", self._runs)

    def tags(self, kind: str) -> list[str]:
        """The tags with values of this kind, sorted; or the tags selected by name, if all of them exist."""
        from tbq import _core

        return sorted(self._found.get(kind) or self._tags_of(kind), key=_core.raw_name)

    def _tags_of(self, kind: str | None) -> list[str]:
        """The tags of one kind, or of all."""
        from tbq.columns.rows import having

        table = self._contents.tags_and_kinds
        if self._runs is not None:
            table = having(table, "run", self._runs)
        if kind is None:
            return names_in(table["tag"])
        tags, names = codes_of(table["tag"])
        kinds, known = codes_of(table["kind"])
        if kind not in known.to_pylist():
            return []
        used = np.unique(tags[kinds == known.to_pylist().index(kind)])
        return list(names.take(pa.array(used)).to_pylist())

    def series(self, _runs: Sequence[str]) -> pa.Table:
        """One row per logged (run, tag, kind)."""
        from tbq.columns.rows import having

        dropped = self._contents.dropped
        if self._runs is not None:
            dropped = having(dropped, "run", self._runs)
        if not len(dropped):
            return self._tags
        counted = dropped.append_column("count", pa.array(np.zeros(len(dropped), np.int64)))
        return pa.concat_tables([self._tags, counted], promote_options="default").unify_dictionaries()

    def read(self, kind: str, columns: Sequence[str], **more: Any) -> pa.Table:
        """Columns of a table, for the selected runs, tags and steps."""
        asked: dict[str, Any] = {"runs": self._runs, "steps": self._options.steps, **more}
        if "tags" not in asked:
            asked["tags"] = self._selected(kind)
        return scan.rows(self._contents.table(kind), columns, **asked)

    def _selected(self, kind: str) -> set[str] | None:
        """The selected tags of a table; None for all."""
        from tbq import _core

        selection: Selection = self._options.tag
        if selection.everything:
            return None
        of_kind = kind if kind == "scalars" else _core.kind_of_table(kind)
        # Match tags of other kinds too, as the core does: a selection may record which tags exist.
        matching = {tag for tag in self._tags_of(None) if selection.matches(tag)}
        return matching.intersection(self._tags_of(of_kind))

    def scalars(self) -> pa.Table:
        """The scalars, or their selected columns."""
        wanted = self._options.columns
        columns = [name for name in schema("scalars").names if wanted is None or name in wanted]
        named = self._options.tag.named
        if named and "tag" in columns:  # if all named tags have rows, the table of tags need not be read
            table = self.read("scalars", columns, tags=named)
            found = min(len(table), 1) if len(named) == 1 else len(names_in(table["tag"]))
            if found == len(named):
                self._found["scalars"] = sorted(named)
                return table
        return self.read("scalars", columns)

    def sessions(self) -> pa.Table:
        """Empty: a lake has no table of sessions, only each row's session."""
        return pa.table({"run": pa.array([], pa.int64())})

    def segments(self) -> pa.Table:
        """The start of each session of each series of scalars: `series, session, first_step, first_wall_time`."""
        table = self.read("scalars", ["run", "tag", "step", "wall_time", ROW])
        run, run_names = codes_of(table["run"])
        tag, tag_names = codes_of(table["tag"])
        session = numbers(table[ROW]) // SESSION
        rows = starts_of(run, tag, session)
        columns = (values_of(self._tags[name]) for name in ("run", "tag", "kind"))
        places = {key: place for place, key in enumerate(zip(*columns, strict=True))}
        names = (run_names.to_pylist(), tag_names.to_pylist())
        every = [places.get((names[0][run[row]], names[1][tag[row]], "scalars"), -1) for row in rows.tolist()]
        # A sync may have added series after the table of tags was read.
        rows = rows[np.array(every, np.int64) >= 0]
        series = [place for place in every if place >= 0]
        return pa.table(
            {
                "series": pa.array(series, pa.int64()),
                "session": pa.array(session[rows], pa.int64()),
                "first_step": table["step"].take(pa.array(rows)),
                "first_wall_time": table["wall_time"].take(pa.array(rows)),
            }
        )

    def values(self, kind: str) -> LakeValues:
        """The values of a table."""
        if kind not in self._values:
            self._values[kind] = LakeValues(self, kind)
        return self._values[kind]


class LakeValues:
    """The values of one table. A value may have several rows."""

    def __init__(self, result: LakeResult, kind: str) -> None:
        self._result, self._kind = result, kind
        names = ["run", "tag", "step", "wall_time", ROW]
        names += [name for name in ("index",) if name in schema(kind).names]
        self._rows = result.read(kind, names)
        starts = _value_starts(self._rows) if kind in SEVERAL else np.ones(len(self._rows), bool)
        self._starts = np.flatnonzero(starts)
        self._number = np.cumsum(starts) - 1
        keys = self._rows.select(["run", "tag", "step", "wall_time"]).take(pa.array(self._starts))
        self.keys = keys.append_column("bytes", pa.array(np.zeros(len(keys), np.int64)))

    def read(self, values: Sequence[int] | None, columns: Sequence[str] | None) -> pa.Table:
        """The rows of these values, or of all."""
        every = schema(self._kind).names
        names = every if columns is None else [name for name in every if name in columns]
        if values is None:
            return self._result.read(self._kind, names)
        chosen = self.keys.take(pa.array(list(values), pa.int64()))
        if not len(chosen):
            return self._result.read(self._kind, names).slice(0, 0)
        steps = numbers(chosen["step"])
        table = self._result.read(
            self._kind,
            [*names, *(name for name in ("run", ROW) if name not in names)],
            runs=set(values_of(chosen["run"])),
            tags=set(values_of(chosen["tag"])),
            steps=(int(steps.min()), int(steps.max())),
        )
        places = {key: place for place, key in enumerate(_row_keys(table))}
        own = list(_row_keys(self._rows))
        ends = [*self._starts[1:].tolist(), len(own)]
        rows = [
            places[own[row]] for value in values for row in range(int(self._starts[value]), int(ends[value]))
        ]
        return table.take(pa.array(rows, pa.int64())).select(names)


def _row_keys(table: pa.Table) -> Iterable[tuple[str, int]]:
    return zip(values_of(table["run"]), table[ROW].to_pylist(), strict=True)


def _value_starts(table: pa.Table) -> Any:
    """A mask of the first row of each value."""
    run, tag = codes_of(table["run"])[0], codes_of(table["tag"])[0]
    step, wall = numbers(table["step"]), numbers(table["wall_time"]).view(np.int64)
    fresh = begins(run, tag, step, wall)
    number = numbers(table[ROW])
    fresh[1:] |= number[1:] != number[:-1] + 1  # a gap
    if "index" in table.column_names:
        fresh |= _is_first(table["index"])
    return fresh


def _is_first(index: pa.ChunkedArray) -> Any:
    """A mask of the indices of first rows: an index is 0 in each of its dimensions, or missing."""
    if pa.types.is_integer(index.type):
        return np.asarray(index.fill_null(0)) == 0
    return np.array([not any(each or ()) for each in index.to_pylist()], bool)
