"""What a filter can let through, found by asking Arrow to simplify it: never too little, so no row is lost.

Arrow prunes the files of a partitioned dataset by each file's guarantee ("tag is loss"). Here the guarantees are the
questions: if a file stays, the filter may be true. No expression is taken apart, so any filter of any version gets a
safe answer, if only "may be".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from tbq.columns.rows import with_strings
from tbq.select import MAX_STEP, MIN_STEP, Selection

if TYPE_CHECKING:
    import pyarrow.compute as pc

_FAN = 16  # the number of parts into which a range of runs is split at a time


@dataclass(frozen=True)
class Matching(Selection):
    """A selection of tags by a test instead of by names."""

    test: Callable[[str], bool] = field(default=lambda _: True)

    @property
    def everything(self) -> bool:
        return False

    def matches(self, name: str) -> bool:
        return self.test(name)


class Filter:
    """A filter over the rows of a table with this schema."""

    def __init__(self, expression: pc.Expression, schema: pa.Schema) -> None:
        import pyarrow.dataset as ds
        from pyarrow.fs import LocalFileSystem

        self.expression = expression
        # Arrow simplifies ranges for guarantees of strings, not of dictionaries.
        self._schema = with_strings(schema)
        self._format, self._files = ds.IpcFileFormat(), LocalFileSystem()  # never used: no file is opened

    def uses(self, name: str) -> bool:
        """Whether the filter uses this column."""
        import pyarrow.dataset as ds

        without = pa.schema([column for column in self._schema if column.name != name])
        try:
            ds.Scanner.from_batches(iter(()), schema=without, filter=self.expression)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            return True
        return False

    def possible(self, guarantees: Sequence[pc.Expression]) -> list[int]:
        """The indices of the guarantees under which the filter may be true."""
        import pyarrow.dataset as ds

        questions = ds.FileSystemDataset.from_paths(
            [str(i) for i in range(len(guarantees))],
            schema=self._schema,
            format=self._format,
            filesystem=self._files,
            partitions=list(guarantees),
        )
        try:
            return [int(fragment.path) for fragment in questions.get_fragments(filter=self.expression)]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            return list(range(len(guarantees)))

    def names(self, column: str, names: Sequence[str]) -> list[str]:
        """The names that the column may have in a row that passes, sorted."""
        import pyarrow.dataset as ds

        if not self.uses(column):
            return list(names)
        it = ds.field(column)
        kept: list[str] = []
        parts: list[Sequence[str]] = [sorted(names)] if names else []
        while parts:
            inner: list[Sequence[str]] = []
            asked = [
                (it == part[0]) if len(part) == 1 else (it >= part[0]) & (it <= part[-1]) for part in parts
            ]
            for i in self.possible(asked):
                part = parts[i]
                if len(part) == 1:
                    kept.append(part[0])
                else:
                    size = -(-len(part) // _FAN)
                    inner.extend(part[at : at + size] for at in range(0, len(part), size))
            parts = inner
        return sorted(kept)

    def tags(self) -> Selection:
        """The tags that may pass, as a test that runs once per tag; all tags if the filter does not use them."""
        import pyarrow.dataset as ds

        if not self.uses("tag"):
            return Selection(None)
        it = ds.field("tag")
        return Matching((), test=lambda tag: bool(self.possible([it == tag])))

    def steps(self) -> tuple[int, int]:
        """The smallest and the largest step that may pass; the first is larger if none can."""
        import pyarrow.dataset as ds

        if not self.uses("step"):
            return MIN_STEP, MAX_STEP
        it = ds.field("step")
        last = _search(lambda step: bool(self.possible([it >= step])), MIN_STEP, MAX_STEP)
        if last is None:
            return MAX_STEP, MIN_STEP
        first = _search(lambda step: bool(self.possible([it <= -step - 1])), MIN_STEP, MAX_STEP)
        return (MIN_STEP if first is None else -first - 1), last


def _search(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """The largest number for which `holds`, which is true up to some number and false above it."""
    if holds(high):
        return high
    if not holds(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
