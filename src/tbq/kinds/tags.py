"""The `tags` table: what was logged, by run and tag, and the tags of each kind."""

from __future__ import annotations

from tbq.columns.codes import values_of
from tbq.table.table import Table


class TagTable(Table):
    """The `tags` table; `by_kind()` returns the tags of each kind."""

    def by_kind(self) -> dict[str, list[str]]:
        """The tags of each kind, sorted, as in TensorBoard's `EventAccumulator.Tags()`.

        >>> import pyarrow as pa
        >>> TagTable(pa.table({"tag": ["b", "a"], "kind": ["scalars", "scalars"]})).by_kind()
        {'scalars': ['a', 'b']}
        """
        kinds: dict[str, set[str]] = {}
        arrow = self.to_arrow()
        for tag, kind in zip(values_of(arrow["tag"]), values_of(arrow["kind"]), strict=True):
            kinds.setdefault(kind, set()).add(tag)
        return {kind: sorted(tags) for kind, tags in sorted(kinds.items())}
