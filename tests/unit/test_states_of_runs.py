"""The states of runs are the same in a log, its summary, its lake and SQL, and change as the runs are written."""

from __future__ import annotations

import math
import shutil
import time
from pathlib import Path

import eventfile as ef
import pytest

import tbq
import tbq.lake

END = {"finished": 1, "failed": 2}


def end(how: str, wall: float) -> bytes:
    return ef.double_field(1, wall) + ef.bytes_field(1000, ef.int_field(1, END[how]))


def states(path: Path) -> dict[str, str]:
    """The states; asserts that they are the same in every table."""
    log = tbq.open(path)
    found = {row["run"]: row["state"] for row in log.table("runs").to_dicts()}
    assert {row["run"]: row["state"] for row in log.summary().to_dicts()} == found
    for table in ("runs", "summary"):
        rows = log.sql(f"select run, state from {table}").to_dicts()
        assert {row["run"]: row["state"] for row in rows} == found
    return found


def test_a_lake_follows_the_states_of_its_log(tmp_path: Path) -> None:
    """Even if the sync reads only what was added."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    now = time.time()
    old = now - 90_000
    path = log / "run" / "events.out.tfevents.1.h"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")

    def state_after(*events: bytes) -> str:
        with path.open("ab") as file:
            file.write(ef.event_file(list(events)))
        tbq.lake.sync(log, lake)
        assert states(lake) == states(log)
        return states(log)["run"]

    assert state_after(ef.version(), ef.scalar("loss", 1, 1.0, wall=old)) == "finished"
    assert state_after(ef.scalar("loss", 2, math.nan, wall=old + 1)) == "diverged"
    assert state_after(ef.scalar("acc", 3, 1.0, wall=old + 2)) == "diverged"
    assert state_after(ef.scalar("loss", 3, 1.0, wall=old + 2), end("failed", old + 2)) == "crashed"
    assert state_after(ef.scalar("loss", 4, 1.0, wall=old + 3)) == "finished"
    assert state_after(ef.scalar("loss", 5, 1.0, wall=now)) == "running"
    assert state_after(end("finished", now + 1)) == "finished"


def test_states_in_a_lake_change_as_time_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    now = time.time()
    for run, pause in {"often": 1.0, "seldom": 60.0}.items():
        (log / run).mkdir(parents=True)
        events = [ef.scalar("loss", i, 1.0, wall=now - (9 - i) * pause) for i in range(10)]
        (log / run / "events.out.tfevents.1.h").write_bytes(
            ef.event_file([ef.version(wall=now - 9 * pause), *events])
        )
    tbq.lake.sync(log, lake)
    seen = []
    for later in (0, 300, 3_000, 5_000, 20_000):
        monkeypatch.setattr("time.time", lambda later=later: now + later)
        assert states(lake) == states(log)
        seen.append(tuple(states(lake).values()))
    assert seen == [
        ("running", "running"),
        ("stalled", "running"),
        ("stalled", "stalled"),
        ("finished", "stalled"),
        ("finished", "finished"),
    ]


def test_a_lake_of_an_earlier_version_has_no_states_until_the_next_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    (log / "run").mkdir(parents=True)
    (log / "run" / "events.out.tfevents.1.h").write_bytes(
        ef.event_file([ef.version(), ef.scalar("loss", 1, 1.0)])
    )
    with monkeypatch.context() as patched:
        patched.setattr("tbq.lake.position.RULES", 1)
        tbq.lake.sync(log, lake)
    shutil.rmtree(lake / "run_facts")
    assert states(lake) == {"run": None}
    tbq.lake.sync(log, lake)
    assert states(lake) == states(log) == {"run": "finished"}


def test_a_tag_called_state_keeps_its_values(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1.h").write_bytes(
        ef.event_file([ef.version(), ef.scalar("state", 1, 2.0)])
    )
    table = tbq.open(tmp_path).summary()
    assert table.columns == ["run", "state", "tag.state"]
    assert table.to_dicts() == [{"run": ".", "state": "finished", "tag.state": 2.0}]
