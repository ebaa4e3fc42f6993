"""A sync that is killed 300 times, at random moments, while the log directory changes: the lake equals the log."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable
from hypothesis import strategies as st
from lakes import assert_same
from livelog import OPERATIONS, LiveLog, New, Replace, Simple

import tbq
import tbq.lake
from tbq.errors import SourceError

KILLS = int(os.environ.get("TBQ_KILLS", "300"))
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(3600)]

WORKER = """
import sys, time, warnings, tbq.lake
warnings.simplefilter("ignore")
print("ready", flush=True)
while True:
    try:
        tbq.lake.sync(sys.argv[1], sys.argv[2], compact=True)
    except tbq.errors.SourceError:
        time.sleep(0.01)
"""


def operations(generator: random.Random, count: int) -> list[Any]:
    """The operations of the property test, drawn at random without shrinking."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    drawn: list[Any] = []

    @seed(generator.getrandbits(32))
    @settings(
        max_examples=max(5, count // 8), phases=[Phase.generate], database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(OPERATIONS, min_size=4, max_size=12))
    def draw(some: list[Any]) -> None:
        drawn.extend(some)

    draw()

    def changed_in_place(each: Any) -> bool:
        return (isinstance(each, Simple) and each.what == "flip") or (
            isinstance(each, Replace) and each.in_place
        )

    # Bytes that change in the middle of a file that also grows cannot be noticed.
    return [each for each in drawn if each != "poll" and not changed_in_place(each)]


def test_a_killed_sync_neither_loses_nor_doubles(tmp_path: Path) -> None:
    generator = random.Random(15)
    log, lake = LiveLog(tmp_path / "log"), tmp_path / "lake"
    log.apply(New(0, 1, 0.25))
    pending = operations(generator, 4 * KILLS)
    killed = 0
    while killed < KILLS:
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(log.root), str(lake)], stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        for _ in range(generator.randrange(1, 5)):
            if not pending:
                pending = operations(generator, 4 * KILLS)
            log.apply(pending.pop())
            time.sleep(generator.uniform(0, 0.12))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        killed += 1
        if killed % 10 == 0:
            try:
                tbq.lake.sync(log.root, lake)
            except SourceError:
                log.apply(New(1, 1, 0.25))
                continue
            assert_same(lake, log.root)
            assert_read_alike(lake)


def assert_read_alike(lake: Path) -> None:
    """deltalake, polars and DuckDB see the same rows."""
    for kind in ("scalars", "runs", "tags"):
        if not (lake / kind).exists():
            continue
        table = DeltaTable(lake / kind)
        count = len(table.to_pyarrow_table())
        assert pl.scan_delta(str(lake / kind)).select(pl.len()).collect().item() == count
        rows = table.to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it by its name
        assert duckdb.sql("select count(*) from rows").fetchall() == [(count,)]
