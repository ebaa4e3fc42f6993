"""Whatever happens to a log directory: a listing equals what `tbq.open` returns for the same bytes."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from livelog import OPERATIONS, LiveLog
from profiles import examples

import tbq
from tbq.errors import TbqError
from tbq.following.listing import Listing

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


def bits(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}d", *numbers)


def compare(listing: Listing, root: Path, restarts: Any) -> None:
    listing.poll()
    listed = listing.of_runs(listing.runs())
    found = {
        (run, each.tag): each
        for run, of_run in listed.items()
        for each in of_run.series
        if each.kind == "scalars"
    }
    try:
        table = tbq.open(root).scalars(restarts=restarts, on_error="ignore").to_arrow()
    except TbqError:  # nothing to open, or no scalars
        assert not found
        return
    series: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for row in table.to_pylist():
        series.setdefault((row["run"], row["tag"]), []).append((row["step"], row["wall_time"], row["value"]))
    assert found.keys() == series.keys()
    for (run, tag), rows in series.items():
        points = listing.points(run, tag)
        assert points.steps.tolist() == [step for step, _, _ in rows]
        assert bits(*points.wall_times) == bits(*(wall for _, wall, _ in rows))
        assert bits(*points.values) == bits(*(value for _, _, value in rows))
        each = found[run, tag]
        assert (each.rows, each.max_step, each.last_step) == (
            len(rows),
            max(row[0] for row in rows),
            rows[-1][0],
        )
        assert bits(each.last_wall_time, each.last_value) == bits(*rows[-1][1:])
        assert bits(each.first_wall_time) == bits(rows[0][1])


@examples(60)
@given(
    st.lists(OPERATIONS, min_size=1, max_size=12), st.sampled_from(["resume", "keep", "last", "tensorboard"])
)
def test_what_is_listed_is_what_there_is(
    tmp_path_factory: pytest.TempPathFactory, operations: list[Any], restarts: Any
) -> None:
    root = tmp_path_factory.mktemp("live") / "logs"
    log = LiveLog(root)
    with tbq.follow(root, restarts=restarts, on_error="ignore", threads=2) as follower:
        listing = Listing(follower)
        for operation in operations:
            if operation != "poll":
                log.apply(operation)
                continue
            compare(listing, root, restarts)
        compare(listing, root, restarts)
    shutil.rmtree(root, ignore_errors=True)
