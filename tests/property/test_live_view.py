"""A follower's answers for screens agree with its tables: last rows, last values, where sessions took over."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from livelog import OPERATIONS, LiveLog, New
from profiles import examples

import tbq
from tbq.following.view import View

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
KINDS = ("scalars", "images", "texts", "histograms", "tensors")


@examples(60)
@given(
    operations=st.lists(OPERATIONS, min_size=5, max_size=30),
    restarts=st.sampled_from(["resume", "keep", "last", "tensorboard"]),
)
def test_the_last_row_of_each_series(operations: list[Any], restarts: Any, folder: Path) -> None:
    root = folder / "log"
    shutil.rmtree(root, ignore_errors=True)
    with tbq.follow(root, on_error="ignore", restarts=restarts) as follower:
        log = LiveLog(root)
        log.apply(New(0, 1, 1.0))
        for operation in operations:
            if operation == "poll":
                follower.poll()
            else:
                log.apply(operation)
        follower.poll()
        check(follower)


def exact(values: Sequence[float]) -> list[bytes]:
    """Numbers that equal themselves, also if they are NaN."""
    return [struct.pack("<d", value) for value in values]


def check(follower: tbq.Follower) -> None:
    view = View(follower)
    found = view.latest([*follower.runs, "no such run"])
    assert list(found) == follower.runs
    for kind in KINDS:
        table = follower.table(kind).to_arrow().select(["run", "tag", "step", "wall_time"]).to_pylist()
        values = (
            follower.table(kind).to_arrow()["value"].to_pylist() if kind == "scalars" else [0.0] * len(table)
        )
        rows: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        for row, value in zip(table, values, strict=True):
            rows.setdefault((row["run"], row["tag"]), []).append((row["step"], row["wall_time"], value))
        got = {
            (run, each.tag): each
            for run, of_run in found.items()
            for each in of_run.series
            if each.kind == kind
        }
        if kind in ("scalars", "tensors", "texts"):  # others have several rows for a value, or none
            assert got.keys() == rows.keys()
        for key, of_series in rows.items():
            each = got[key]
            assert exact([each.step, each.wall_time, each.value]) == exact(list(of_series[-1]))
            if kind == "scalars":
                assert each.rows == len(of_series)
                earlier = (each.earlier_step, each.earlier_wall_time)
                assert each.earlier_rows <= 50
                assert earlier == of_series[-1 - each.earlier_rows][:2]
                assert set(each.takeovers) <= {row[:2] for row in of_series[1:]}
        last = view.last_values(kind, list(rows)) if kind not in ("scalars", "tensors") else {}
        for key, table_of_value in last.items():
            assert set(table_of_value["step"].to_pylist()) <= {row[0] for row in rows[key]}


def test_where_a_session_took_over(tmp_path: Path) -> None:
    import eventfile as ef

    for number, steps in enumerate((range(100), range(60, 90), range(80, 120))):
        wall = 1000.0 * (number + 1)
        events = [ef.version(wall), *(ef.scalar("loss", step, 0.5, wall + step) for step in steps)]
        (tmp_path / f"events.out.tfevents.{number + 1}.h").write_bytes(ef.event_file(events))
    with tbq.follow(tmp_path) as follower:
        follower.poll()
        (each,) = View(follower).latest(follower.runs)["."].series
    assert each.rows == 120
    assert [step for step, _ in each.takeovers] == [60, 80]
    assert (each.step, each.earlier_step) == (119, 80)  # not further than the last session
