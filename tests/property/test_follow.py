"""Whatever happens to a log directory between polls: a follower has what `tbq.open` returns for the same
bytes, and so has the sum of its updates without what they retracted."""

from __future__ import annotations

import shutil
import struct
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from livelog import OPERATIONS, LiveLog, New, Simple
from profiles import examples

import tbq
from tbq import _core
from tbq.errors import TbqError
from tbq.following.store import LiveStore
from tbq.kinds.values import locate

KINDS = ["scalars", *(name for name in _core.tables() if _core.kind_of_table(name) == name)]
POLICIES = ["resume", "keep", "last", "tensorboard"]
pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")

SELECTIONS = st.fixed_dictionaries(
    {
        "run": st.sampled_from([None, None, None, "a", "b*", ["a", "."]]),
        "tag": st.sampled_from([None, None, None, "loss", "*a*", "l[o]ss", ["[mt]*", "acc"]]),
        "steps": st.sampled_from([None, None, None, (3, 6)]),
        "restarts": st.sampled_from(POLICIES),
    }
)


def exact(value: Any) -> Any:
    """A value of a table that equals itself, also if it is NaN."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    return tuple(map(exact, value)) if isinstance(value, list) else value


def rows_of(table: tbq.Table) -> list[tuple[Any, ...]]:
    arrow = table.to_arrow()
    return [tuple(exact(value) for value in row.values()) for row in arrow.to_pylist()]


class Opened(NamedTuple):
    """The results of `tbq.open`: rows of tables, and the key of each value."""

    rows: dict[str, list[tuple[Any, ...]]]
    keys: dict[str, Counter[tuple[Any, ...]]]


def opened(root: Path, selection: dict[str, Any]) -> Opened:
    """Every table of `tbq.open`; without rows if there is nothing to open."""
    rows: dict[str, list[tuple[Any, ...]]] = {kind: [] for kind in KINDS}
    keys: dict[str, Counter[tuple[Any, ...]]] = {kind: Counter() for kind in KINDS}
    try:
        log = tbq.open(root)
    except TbqError:
        return Opened(rows, keys)
    for kind in KINDS:
        try:
            rows[kind] = rows_of(log.table(kind, on_error="ignore", **selection))
        except TbqError:
            continue
        if kind == "scalars":
            keys[kind] = Counter(rows[kind])
        else:
            keys[kind] = keys_of(locate(log._reader, kind, on_error="ignore", **selection).keys())
    return Opened(rows, keys)


def keys_of(table: Any) -> Counter[tuple[Any, ...]]:
    """Run, tag, step and wall time of each value."""
    table = table if isinstance(table, pa.Table) else pa.table(table)
    columns = (table[name].to_pylist() for name in ("run", "tag", "step", "wall_time"))
    return Counter((run, tag, step, exact(wall)) for run, tag, step, wall in zip(*columns, strict=True))


class Recorder:
    """Keeps the last update of a store, by value: in an update of a follower, a value may have several rows."""

    def __init__(self, store: LiveStore) -> None:
        self.last: Any = None
        self._poll = store.poll
        store.poll = self.poll  # type: ignore[method-assign]

    def poll(self, rows: bool = True, most: int | None = None) -> Any:
        self.last = self._poll(rows, most)
        return self.last


class Sum:
    """The rows of a follower's updates, without the retracted ones."""

    def __init__(self, follower: tbq.Follower) -> None:
        self._follower = follower
        self._store = Recorder(follower.store)
        self.keys: dict[str, Counter[tuple[Any, ...]]] = {kind: Counter() for kind in KINDS}
        self.delivered: dict[str, set[tuple[Any, ...]]] = {kind: set() for kind in KINDS}

    def poll(self, most: int | None = None) -> int:
        """How many bytes are left."""
        update = self._follower.poll(most=most)
        for row in update.retracted_rows.to_arrow().to_pylist():
            key = row["run"], row["tag"], row["step"], exact(row["wall_time"])
            if row["kind"] == "scalars":
                key = (*key, exact(row["value"]))
            self.keys[row["kind"]][key] -= 1
            assert self.keys[row["kind"]][key] >= 0, f"{key} was never there"
        for kind, table in update.tables.items():
            rows = rows_of(table)
            self.delivered[kind].update(rows)
            self.keys[kind] += (
                Counter(rows)
                if kind == "scalars"
                else keys_of(_core.keys(self._store.last.added, kind, self._follower.runs))
            )
        return update.left

    def check(self, want: Opened) -> None:
        for kind in KINDS:
            assert set(want.rows[kind]) <= self.delivered[kind]
            assert +self.keys[kind] == want.keys[kind]


def agree(
    root: Path, follower: tbq.Follower, total: Sum, selection: dict[str, Any], most: int | None
) -> None:
    while total.poll(most):
        pass
    want = opened(root, selection)
    for kind in KINDS:
        assert rows_of(follower.table(kind)) == want.rows[kind], kind
    total.check(want)
    assert not follower.poll()


@pytest.mark.long
@examples(150)
@given(
    operations=st.lists(OPERATIONS, min_size=5, max_size=40),
    selection=SELECTIONS,
    threads=st.integers(1, 3),
    most=st.sampled_from([None, None, 1, 100, 5000]),  # bytes that a poll reads
)
def test_a_follower_has_what_open_gives(
    operations: list[Any], selection: dict[str, Any], threads: int, most: int | None, folder: Path
) -> None:
    root = folder / "log"
    shutil.rmtree(root, ignore_errors=True)
    with tbq.follow(root, threads=threads, on_error="ignore", **selection) as follower:
        total = Sum(follower)
        assert not follower.poll()  # there is nothing yet
        log = LiveLog(root)
        log.apply(New(0, 1, 1.0))
        for operation in operations:
            if operation == "poll":
                agree(root, follower, total, selection, most)
                continue
            # A flipped bit in bytes that were read is noticed only if nothing else happened to the file since.
            alone = isinstance(operation, Simple) and operation.what == "flip"
            if alone:
                agree(root, follower, total, selection, most)
            log.apply(operation)
            if alone:
                agree(root, follower, total, selection, most)
        agree(root, follower, total, selection, most)
        shutil.rmtree(root)
        agree(root, follower, total, selection, most)
