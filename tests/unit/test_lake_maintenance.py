"""Small data files of a lake are joined, and old ones deleted, without harm to other syncs and readers."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError
from lakes import assert_same, make_runs

import tbq
import tbq.lake

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


def test_small_files_are_joined_and_old_ones_deleted(tmp_path: Path) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_runs(log, 3)
    for step in range(20, 26):
        tbq.lake.sync(log, lake, compact=False)
        for path in log.rglob("*tfevents*"):
            with path.open("ab") as file:
                file.write(ef.record(ef.scalar("loss", step, 0.5, 100.0 + step)))
    tbq.lake.sync(log, lake, compact=False)
    assert len(DeltaTable(lake / "scalars").file_uris()) == 7
    tbq.lake.sync(log, lake, compact=True, retention=0.5)
    assert len(list((lake / "scalars").glob("*.parquet"))) == 8, "queries of the last half hour go on"
    tbq.lake.sync(log, lake, compact=True, retention=0)
    assert len(DeltaTable(lake / "scalars").file_uris()) == 1
    assert len(list((lake / "scalars").glob("*.parquet"))) == 1
    assert_same(lake, log)
    assert not tbq.lake.sync(log, lake)


def test_files_that_another_sync_is_about_to_commit_stay(tmp_path: Path) -> None:
    """Even without any retention: they are not its rubbish before an hour has passed."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_runs(log, 2)
    tbq.lake.sync(log, lake)
    (path,) = (lake / "scalars").glob("*.parquet")
    written = path.with_name("part-" + "0" * 32 + ".lz4.parquet")
    written.write_bytes(path.read_bytes())
    with next(log.rglob("*tfevents*")).open("ab") as file:
        file.write(ef.record(ef.scalar("loss", 20, 0.5, 120.0)))
    tbq.lake.sync(log, lake, compact=True, retention=0)
    assert written.exists()
    assert len(list((lake / "scalars").glob("*.parquet"))) == 2, "what was joined is gone"
    hours_ago = time.time() - 7200
    os.utime(written, (hours_ago, hours_ago))
    tbq.lake.sync(log, lake, compact=True, retention=0)
    assert not written.exists()
    assert_same(lake, log)


def test_another_sync_commits_while_files_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleting is a commit too: the other commit wins, without a warning. Other failures are reported."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_runs(log, 2)
    tbq.lake.sync(log, lake)
    failures: list[Exception] = [
        CommitFailedError("a concurrent transaction deleted data this operation read")
    ]

    def vacuum(*_: Any, **_more: Any) -> None:
        raise failures[0]

    monkeypatch.setattr(DeltaTable, "vacuum", vacuum)
    assert not tbq.lake.sync(log, lake, compact=True)
    failures[0] = DeltaError("permission denied")
    with pytest.raises(tbq.TbqError, match=r"cannot be deleted: permission denied\n.*the lake is intact"):
        tbq.lake.sync(log, lake, compact=True)
    assert_same(lake, log)


def test_many_small_files_are_joined_without_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tbq.lake.maintenance.SEVERAL", 4)
    log, lake = tmp_path / "log", tmp_path / "lake"
    make_runs(log, 1)
    (path,) = log.rglob("*tfevents*")
    for step in range(20, 28):
        tbq.lake.sync(log, lake)
        with path.open("ab") as file:
            file.write(ef.record(ef.scalar("loss", step, 0.5, 100.0 + step)))
    tbq.lake.sync(log, lake)
    assert len(DeltaTable(lake / "scalars").file_uris()) < 5
    assert_same(lake, log)
