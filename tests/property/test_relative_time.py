"""Seconds since the run began: the same in every path, whatever is selected."""

from __future__ import annotations

import csv
import math
import os
import shutil
from pathlib import Path

import eventfile as ef
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq import _core
from tbq.select import MAX_STEP, MIN_STEP

TAGS = ("loss", "val", "acc")
Points = list[tuple[str, int, float]]  # tag, step, seconds


@st.composite
def runs(draw: st.DrawFn) -> dict[str, list[tuple[float | None, Points]]]:
    """Files of each run: the header's time, and points, some of them logged before it as a converted log has them."""
    seconds = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, -2.0])
    points = st.lists(st.tuples(st.sampled_from(TAGS), st.integers(0, 5), seconds), max_size=5)
    header = st.sampled_from([None, 0.0, 0.5, 100.0])
    files = st.lists(st.tuples(header, points), min_size=1, max_size=3)
    return draw(st.dictionaries(st.sampled_from(["a", "b/c"]), files, min_size=1))


def write(root: Path, made: dict[str, list[tuple[float | None, Points]]]) -> dict[str, float]:
    """Write the log; returns when each run began, by definition its earliest wall time."""
    shutil.rmtree(root, ignore_errors=True)
    began = {}
    for run, files in made.items():
        (root / run).mkdir(parents=True)
        times = []
        for n, (header, points) in enumerate(files):
            wall = None if header is None else ef.WALL + header + n
            events = [ef.scalar(tag, step, 1.0, ef.WALL + at + n) for tag, step, at in points]
            (root / run / f"events.out.tfevents.{n}").write_bytes(ef.event_file([ef.version(wall), *events]))
            times += [ef.WALL + at + n for _, _, at in points] + ([] if wall is None else [wall])
        began[run] = min(times, default=math.nan)
    return began


@examples(30)
@given(made=runs(), tag=st.sampled_from([None, *TAGS]), steps=st.sampled_from([None, "2:", "1"]))
def test_it_does_not_move_with_the_selection(
    folder: Path, made: dict[str, list[tuple[float | None, Points]]], tag: str | None, steps: str | None
) -> None:
    began = write(folder / "runs", made)
    log = tbq.open(folder / "runs")
    try:
        table = log.scalars(tag=tag, steps=steps, restarts="keep")
    except tbq.TbqError:
        return  # that tag was not logged
    arrow = table.to_arrow()
    walls = list(zip(arrow["run"].to_pylist(), arrow["wall_time"].to_pylist(), strict=True))
    want = [wall - began[run] for run, wall in walls]
    assert table.with_relative_time().to_arrow()["relative_time"].to_pylist() == want
    for ending in ("csv", "parquet"):
        table.write(folder / f"out.{ending}", force=True, time="relative")
    assert tbq.read(folder / "out.parquet").to_arrow()["wall_time"].to_pylist() == want
    with open(folder / "out.csv", encoding="utf-8") as file:
        assert [float(row["wall_time"]) for row in csv.DictReader(file)] == want
    table.write(folder / "out.arrow", force=True)  # a file knows when its runs began
    assert tbq.read(folder / "out.arrow").with_relative_time().to_arrow()["relative_time"].to_pylist() == want
    where = "tag = $tag" if tag else "$tag is null"
    low, high = {None: (0, 9), "2:": (2, 9), "1": (1, 1)}[steps]
    query = (
        f"select relative_time, run, wall_time from scalars where {where} and step between {low} and {high}"
    )
    found = log.sql(query, params={"tag": tag}, restarts="keep")
    assert sorted(found.to_arrow()["relative_time"].to_pylist()) == sorted(want)
    found.write(folder / "sql.parquet", force=True, time="relative")
    assert sorted(tbq.read(folder / "sql.parquet").to_arrow()["wall_time"].to_pylist()) == sorted(want)
    scanned = log.scan(tag=tag, steps=steps, restarts="keep", relative_time=True).read_all()
    assert scanned["relative_time"].to_pylist() == want


LARGE = {
    "loss": lambda at: ef.scalar("loss", 0, 1.0, at),
    "small": lambda at: ef.image("small", 0, b"x", wall=at),
    "large": lambda at: ef.image("large", 0, bytes(5000), wall=at),
    "told": lambda at: ef.tensor_images("told", 0, bytes(5000), wall=at),
    "untold": lambda at: ef.event(  # of a tag whose plugin is only in another event
        ef.summary(ef.value("told", ef.tensor("string", [b"1", b"1", bytes(5000)], dims=(3,)))), wall=at
    ),
}


@examples(150)
@given(
    header=st.sampled_from([None, 0.0, 2.0]),
    events=st.lists(
        st.tuples(st.sampled_from(list(LARGE)), st.sampled_from([0.0, 1.0, 1.0, 3.0, -5.0]), st.booleans()),
        max_size=6,
    ),
    byte=st.integers(0, 20),
    bit=st.integers(0, 7),
    tag=st.sampled_from([None, "loss", "small", "told"]),
    kind=st.sampled_from(["scalars", "images"]),
)
def test_a_large_record_that_is_passed_over_may_be_the_oldest(
    folder: Path,
    header: float | None,
    events: list[tuple[str, float, bool]],
    byte: int,
    bit: int,
    tag: str | None,
    kind: str,
) -> None:
    """The start of a run depends only on its valid records; neither it nor the damage depends on threads."""
    made = [ef.version(None if header is None else ef.WALL + header)]
    made += [LARGE[what](ef.WALL + at) for what, at, _ in events]
    records = [bytearray(ef.record(payload)) for payload in made]
    sound = made[:1]
    for record, payload, (_, _, hit) in zip(records[1:], made[1:], events, strict=True):
        if hit:  # at the head, which has the time
            record[12 + byte] ^= 1 << bit
        else:
            sound.append(payload)
    path = folder / "events.out.tfevents.1"
    path.write_bytes(b"".join(records))
    began = reference.began({path.name: sound})
    found = []
    for threads, split in ((1, 16 << 20), (4, 1), (3, 5000)):
        result = _core.decode(
            [os.fsencode(path)], [0], [kind], None if tag is None else tag.__eq__, MIN_STEP, MAX_STEP, "keep", threads,
            1 << 16, split, True, None, None,
        )  # fmt: skip
        assert result.run_starts() == ({} if began is None else {0: began})
        found.append([(fault.offset, fault.length) for fault in result.files[0].faults])
    assert found[0] == found[1] == found[2]


def test_lazy_frames_and_datasets_have_it_too(tmp_path: Path) -> None:
    import polars as pl
    import pyarrow.dataset as ds

    write(tmp_path / "runs", {"a": [(0.0, [("loss", 0, 0.4), ("val", 1, 0.41)])]})
    log = tbq.open(tmp_path / "runs")
    frame = log.lazy(relative_time=True).filter(pl.col("tag") == "val").collect()
    assert frame["relative_time"].to_list() == pytest.approx([0.41])
    assert log.lazy(relative_time=True).filter(pl.col("relative_time") < 0.405).collect().height == 1
    table = log.dataset(relative_time=True).to_table(filter=ds.field("tag") == "val")
    assert table["relative_time"].to_pylist() == pytest.approx([0.41])
    assert "relative_time" not in log.lazy().collect_schema().names()
    with pytest.raises(tbq.TbqError, match="relative_time: the table runs has no wall_time"):
        log.lazy(kind="runs", relative_time=True)


def test_other_kinds_and_overviews(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    events = [ef.version(), ef.scalar("loss", 0, 1.0, ef.WALL + 2), ef.text("notes", 1, b"x", ef.WALL + 5)]
    path.write_bytes(ef.event_file(events))
    log = tbq.open(tmp_path)
    assert log.texts().with_relative_time().to_arrow()["relative_time"].to_pylist() == [5.0]
    log.table("runs").write(tmp_path / "runs.parquet", time="relative")
    row = tbq.read(tmp_path / "runs.parquet").to_arrow().to_pylist()[0]
    assert (row["first_wall_time"], row["last_wall_time"]) == (0.0, 5.0)
    with pytest.raises(tbq.TbqError, match="has no wall_time"):
        log.tags().with_relative_time()


def test_a_table_without_a_log_counts_from_its_first_row(tmp_path: Path) -> None:
    import pyarrow as pa

    from tbq.export import write as write_table

    table = pa.table({"run": ["a", "a", "b"], "wall_time": [5.0, 7.5, 1.0]})
    write_table(table, tmp_path / "out.csv", time="relative")
    assert (tmp_path / "out.csv").read_text() == "run,wall_time\na,0.0\na,2.5\nb,0.0\n"
