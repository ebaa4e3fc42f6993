"""Whatever happens to a log directory and whenever it is looked at: a follower has what `tbq.open` gives on the same
bytes, and so has the sum of its updates without what they retracted."""

from __future__ import annotations

import shutil
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from livelog import OPERATIONS, LiveLog, New, Simple
from tables import examples

import tbq
from tbq import _core
from tbq.errors import TbqError

KINDS = ["scalars", *(name for name in _core.tables() if _core.kind_of_table(name) == name)]
POLICIES = ["resume", "keep", "last", "tensorboard"]
pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")

SELECTIONS = st.fixed_dictionaries(
    {
        "run": st.sampled_from([None, None, None, "a", "b*", ["a", "."]]),
        "tag": st.sampled_from([None, None, None, "loss", "*a*"]),
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


def opened(root: Path, selection: dict[str, Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Every table that `tbq.open` has rows of; none if there is nothing to open."""
    try:
        log = tbq.open(root)
    except TbqError:
        return {}
    found = {}
    for kind in KINDS:
        try:
            found[kind] = rows_of(log.table(kind, on_error="ignore", **selection))
        except TbqError:
            found[kind] = []
    return {kind: rows for kind, rows in found.items() if rows}


#: Tables with several rows for one value, which retractions do not tell apart.
MANY = ("pr_curves", "hparams", "custom_scalars")


class Sum:
    """What updates gave, less what they retracted: the keys of rows."""

    def __init__(self) -> None:
        self.keys: dict[str, Counter[tuple[Any, ...]]] = {kind: Counter() for kind in KINDS}
        self.delivered: dict[str, set[tuple[Any, ...]]] = {kind: set() for kind in KINDS}

    def add(self, update: tbq.Update) -> None:
        for row in update.retracted_rows.to_arrow().to_pylist():
            if row["kind"] in MANY:
                continue
            key = row["run"], row["tag"], row["step"], exact(row["wall_time"])
            if row["kind"] == "scalars":
                key = (*key, exact(row["value"]))
            self.keys[row["kind"]][key] -= 1
            assert self.keys[row["kind"]][key] >= 0, f"{key} was never there"
        for kind, table in update.tables.items():
            rows = rows_of(table)
            self.delivered[kind].update(rows)
            self.keys[kind].update(keys_of(kind, rows))

    def check(self, want: dict[str, list[tuple[Any, ...]]]) -> None:
        for kind in KINDS:
            rows = want.get(kind, [])
            assert set(rows) <= self.delivered[kind]
            if kind not in MANY:
                assert +self.keys[kind] == Counter(keys_of(kind, rows))


def keys_of(kind: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return rows if kind == "scalars" else [row[:4] for row in rows]


def agree(root: Path, follower: tbq.Follower, total: Sum, selection: dict[str, Any]) -> None:
    total.add(follower.poll())
    want = opened(root, selection)
    for kind in KINDS:
        assert rows_of(follower.table(kind)) == want.get(kind, []), kind
    total.check(want)
    if set(selection) == {"restarts"}:
        assert not follower.poll()


@examples(150)
@given(
    operations=st.lists(OPERATIONS, min_size=5, max_size=40), selection=SELECTIONS, threads=st.integers(1, 3)
)
def test_a_follower_has_what_open_gives(
    operations: list[Any], selection: dict[str, Any], threads: int, folder: Path
) -> None:
    root = folder / "log"
    shutil.rmtree(root, ignore_errors=True)
    total = Sum()
    with tbq.follow(root, threads=threads, on_error="ignore", **selection) as follower:
        assert not follower.poll()  # there is nothing yet
        log = LiveLog(root)
        log.apply(New(0, 1, 1.0))
        for operation in operations:
            if operation == "poll":
                agree(root, follower, total, selection)
                continue
            # A bit that turns in bytes that were read is seen if it is all that happened to the file since.
            alone = isinstance(operation, Simple) and operation.what == "flip"
            if alone:
                agree(root, follower, total, selection)
            log.apply(operation)
            if alone:
                agree(root, follower, total, selection)
        agree(root, follower, total, selection)
        shutil.rmtree(root)
        agree(root, follower, total, selection)
