"""`FollowedTables`: tables of the rows that a `Follower` has read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tbq import _core
from tbq.arguments import bad, choice, choices
from tbq.arrow import to_pyarrow
from tbq.decode.reader import Reader, table_of

if TYPE_CHECKING:
    from tbq._core import LiveUpdate, Result
    from tbq.decode.options import OnError
    from tbq.select import Selection
    from tbq.source import Run
    from tbq.table.table import Table


class FollowedTables:
    """Makes tables of the core's results, with the selected tags."""

    def __init__(
        self, kinds: Sequence[str] | str | None, tag: Selection, reader: Reader, path: str, on_error: OnError
    ) -> None:
        names = ("scalars", *_core.tables())
        self._kind_of = {
            name: "scalars" if name == "scalars" else _core.kind_of_table(name) for name in names
        }
        #: the tables of updates
        self.names: list[str] = (
            [name for name in names if self._kind_of[name] == name]
            if kinds is None
            else choices("kinds", kinds, names)
        )
        #: the kinds that the core reads for them
        self.core_kinds = list(dict.fromkeys(self._kind_of[name] for name in self.names))
        self._tag, self._reader, self._path, self._on_error = tag, reader, path, on_error

    def core_kind(self, kind: str) -> str:
        """The core's name for the values of a table; an error if they are not followed."""
        of_kind = self._kind_of[choice("kind", kind, list(self._kind_of))]
        if of_kind not in self.core_kinds:
            raise bad("kind", kind, f"one that is followed: {', '.join(self.names)}")
        return of_kind

    def counts(self, rows: dict[str, int]) -> dict[str, int]:
        """How many of the core's new rows each table has; tables without any are left out."""
        return {name: rows[kind] for name in self.names if (kind := self._kind_of[name]) in rows}

    def new_rows(self, kind: str, added: Result | None, runs: list[Run]) -> Table:
        """The table of an update; without rows if `added` is None."""
        of_kind = self.core_kind(kind)
        if added is None:
            added = _core.Store([of_kind], None, 0, 0, "keep", 1, None).everything([of_kind])
            runs = []
        return self.table(kind, added, runs)

    def table(self, kind: str, result: Result, runs: list[Run]) -> Table:
        """The table of a result of the core."""
        from tbq.columns.rows import having
        from tbq.kinds import tables
        from tbq.kinds.values import Values
        from tbq.table.table import Table

        known = result.tags(self._kind_of[kind])
        names = self._tag.resolve(known).names
        # An exact tag name wins over a pattern.
        fewer = not self._tag.everything and any(self._tag.matches(tag) and tag not in names for tag in known)
        if kind != "scalars":
            values = Values(self._reader, kind, result, runs, names if fewer else None, self._on_error)
            table: Table = tables.table_of(values.arrow(), kind, self._path, self._reader.began)
            return table
        arrow = to_pyarrow(self._reader.scalars(result, runs))
        return Table(
            having(arrow, "tag", names) if fewer else arrow,
            "scalars",
            tags=None if self._tag.everything else self._tag.columns(known),
            logdir=self._path,
            began=self._reader.began,
        )

    @staticmethod
    def retracted(core: LiveUpdate, rows: bool) -> pa.Table:
        """The rows that no longer count, with the same label types as other tables."""
        table = table_of(core.retracted())
        if not rows:
            table = table.slice(0, 0)
        label = pa.dictionary(pa.int32(), pa.string())
        fields = [
            field.with_type(label) if field.name in ("run", "tag", "kind") else field
            for field in table.schema
        ]
        return table.cast(pa.schema(fields))
