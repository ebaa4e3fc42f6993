"""Whatever happens to a log directory between syncs: every table of the lake equals the one from `tbq.open`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import assert_same
from livelog import EVENTS, OPERATIONS, Append, LiveLog, New, Replace, Simple
from profiles import examples

import tbq.lake
from tbq.errors import SourceError
from tbq.lake import tail

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


def in_place(operation: Any) -> bool:
    """Whether bytes change in a way that no sync can notice once the file has grown too."""
    return (isinstance(operation, Simple) and operation.what == "flip") or (
        isinstance(operation, Replace) and operation.in_place
    )


def synced(log: LiveLog, lake: Path) -> bool:
    try:
        tbq.lake.sync(log.root, lake)
    except SourceError:  # nothing to read: the lake stays as it is
        return False
    return True


@pytest.mark.long
@examples(15)
@given(st.lists(OPERATIONS, max_size=25))
def test_a_lake_equals_its_log(tmp_path_factory: pytest.TempPathFactory, operations: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("lake")
    log, lake = LiveLog(folder / "log"), folder / "lake"
    try:
        for operation in [New(0, 1, 0.25), *operations, "poll"]:
            if operation != "poll":
                log.apply(operation)
                if not in_place(operation):
                    continue
            if synced(log, lake):
                assert_same(lake, log.root)
    finally:
        shutil.rmtree(folder)


APPENDS = st.builds(
    Append, st.integers(0, 1), st.lists(EVENTS, min_size=1, max_size=3), st.sampled_from([0.25, 10.0]),
    st.sampled_from([0.0, 0.0, 0.0, 0.4]), st.none(),
)  # fmt: skip


@pytest.mark.long
@examples(12)
@given(st.lists(APPENDS, max_size=12), st.booleans())
def test_a_lake_of_a_log_that_grows(
    tmp_path_factory: pytest.TempPathFactory, operations: list[Any], resumed: bool
) -> None:
    """A sync after each flush of one or two writers, one of them perhaps of the same run."""
    folder = tmp_path_factory.mktemp("lake")
    log, lake = LiveLog(folder / "log"), folder / "lake"
    try:
        for operation in [New(0, 1, 0.25), New(0 if resumed else 1, 2, 10.0), *operations]:
            log.apply(operation)
            if synced(log, lake):
                assert_same(lake, log.root)
    finally:
        shutil.rmtree(folder)


def test_tails_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that only grew is read from its old end, also after a restart."""
    import eventfile as ef

    decoded: list[tuple[int, int]] = []
    original = tail.decode

    def noting(runs: Any, *args: Any, **more: Any) -> Any:
        decoded.extend(each for run in runs for each in run.ranges)
        return original(runs, *args, **more)

    monkeypatch.setattr(tail, "decode", noting)
    log, lake = tmp_path / "log", tmp_path / "lake"
    log.mkdir()

    def scalars(steps: range, wall: float) -> bytes:
        return b"".join(ef.record(ef.scalar("loss", step, step / 2, wall + step)) for step in steps)

    first = log / "events.out.tfevents.1.h"
    first.write_bytes(ef.record(ef.version(100.0)) + scalars(range(10), 100))
    assert tbq.lake.sync(log, lake).added == 1
    size = first.stat().st_size
    with first.open("ab") as file:
        file.write(scalars(range(10, 20), 100))
    done = tbq.lake.sync(log, lake)
    assert (done.grown, done.replaced, done.rows) == (1, 0, 10)
    assert [begin for begin, _ in decoded] == [size]
    assert_same(lake, log)
    second = log / "events.out.tfevents.2.h"
    second.write_bytes(ef.record(ef.version(500.0)) + scalars(range(15, 20), 500))
    done = tbq.lake.sync(log, lake)
    assert (done.grown, done.replaced, done.rows) == (0, 1, 20)
    assert_same(lake, log)
    with second.open("ab") as file:
        file.write(scalars(range(20, 40), 500))
    done = tbq.lake.sync(log, lake)
    assert (done.grown, done.replaced, done.rows) == (1, 0, 20)
    assert_same(lake, log)
