"""Restart policies against a plain reading of docs/restarts.md, over sessions in several files and in merged ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import eventfile as ef
import pyarrow as pa
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from tables import comparable, decode

if TYPE_CHECKING:
    from pathlib import Path

POLICIES = ["keep", "resume", "last", "tensorboard"]
NAMES = [f"events.out.tfevents.{start}.host.{n}" for start in (9, 10, 100) for n in (0, 2, 10)]
WALLS = st.one_of(st.integers(1, 12).map(float), st.sampled_from([0.0, None, float("nan"), -2.0, 5.5]))
STEPS = st.one_of(st.integers(0, 8), st.sampled_from([-3, 2**62, -(2**63), 2**63 - 1]))
TAGS = ["loss", "acc", "v2"]


@st.composite
def one_session(draw: Any, first: bool) -> list[bytes]:
    """A few events, mostly in the order of time; a merged file keeps the file_version of each session in it."""
    start = draw(WALLS)
    payloads = [ef.version(start)] if not first or draw(st.integers(0, 5)) else []
    at = start if start and start > 0 else 3.0
    for _ in range(draw(st.integers(0, 7))):
        at += draw(st.sampled_from([0.0, 0.25, 1.0]))
        wall = at if draw(st.integers(0, 5)) else draw(WALLS)
        step = draw(STEPS)
        kind = draw(st.sampled_from(["loss", "loss", "acc", "v2", "v2 bare", "START", "STOP", "both"]))
        if kind in ("loss", "acc"):
            payloads.append(ef.scalar(kind, step, draw(st.integers(0, 99)), wall))
        elif kind.startswith("v2"):
            meta = b"" if kind == "v2 bare" else ef.SCALARS
            payloads.append(ef.tensor_scalar("v2", step, draw(st.integers(0, 99)), meta=meta, wall=wall))
        elif kind == "both":
            held = [ef.value(tag, ef.float_field(2, draw(st.integers(0, 99)))) for tag in ("loss", "acc")]
            payloads.append(ef.event(ef.summary(*held), step=step, wall=wall))
        else:
            payloads.append(ef.session_log(1 if kind == "START" else 2, step, wall))
    return payloads


@st.composite
def runs(draw: Any) -> reference.Files:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    files = {}
    for name in names:
        files[name] = [
            payload for i in range(draw(st.integers(1, 3))) for payload in draw(one_session(first=i == 0))
        ]
    return {name: payloads for name, payloads in files.items() if payloads} or {NAMES[0]: [ef.version()]}


def write(files: reference.Files, folder: Path) -> list[Path]:
    for old in folder.iterdir():
        old.unlink()
    for name, payloads in files.items():
        (folder / name).write_bytes(ef.event_file(payloads))
    return [folder / name for name in files]


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES)
@examples(70)
@given(files=runs(), data=st.data())
def test_a_policy_does_what_the_design_says(
    policy: str, files: reference.Files, data: Any, folder: Path
) -> None:
    paths = write(files, folder)
    assert decode(paths, restarts=policy).rows == reference.scalars(files, policy)
    first = data.draw(STEPS)
    last = max(first, data.draw(STEPS))
    tag = data.draw(st.sampled_from(TAGS))
    # Filters act on what the policy left.
    kept = decode(paths, restarts=policy, steps=(first, last), select=lambda name: name == tag).rows
    assert kept == [row for row in reference.scalars(files, policy, (first, last)) if row.tag == tag]


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES)
@examples(40)
@given(
    files=runs(),
    block=st.sampled_from([1, 13, 200]),
    split=st.sampled_from([1, 40, 150]),
    threads=st.integers(2, 5),
)
def test_a_split_run_has_the_same_rows(
    policy: str, files: reference.Files, block: int, split: int, threads: int, folder: Path
) -> None:
    rows = decode(write(files, folder), restarts=policy, block=block, split=split, threads=threads).rows
    assert rows == reference.scalars(files, policy)


@pytest.mark.parametrize("policy", POLICIES)
@examples(50)
@given(files=runs(), tag=st.sampled_from(TAGS), span=st.tuples(STEPS, STEPS).map(sorted))
def test_counting_a_selection_counts_what_reading_it_gives(
    policy: str, files: reference.Files, tag: str, span: list[int], folder: Path
) -> None:
    """Independent of what restarts left of other tags or steps."""
    paths = write(files, folder)
    read = [row for row in reference.scalars(files, policy) if row.tag == tag]
    chosen = decode(paths, restarts=policy, kinds=[], count=True, select=lambda name: name == tag).result
    everything = decode(paths, restarts=policy, kinds=[], count=True).result
    of_tag = [row for row in series_of(chosen) if row["tag"] == tag]
    assert sum(row["count"] for row in of_tag if row["kind"] == "scalars") == len(read)
    assert of_tag == [row for row in series_of(everything) if row["tag"] == tag]
    assert not any(row["count"] for row in series_of(chosen) if row["tag"] != tag)
    in_span = decode(paths, restarts=policy, kinds=[], count=True, steps=(span[0], span[1])).result
    assert [row["tag"] for row in series_of(in_span)] == [row["tag"] for row in series_of(everything)]


def series_of(result: Any) -> list[dict[str, Any]]:
    rows = pa.table(result.series(["run"])).to_pylist()
    return [
        {name: comparable(cell) if isinstance(cell, float) else cell for name, cell in row.items()}
        for row in rows
    ]


def test_dropped_rows_are_counted(folder: Path) -> None:
    files = {
        NAMES[0]: [ef.version(1.0), *(ef.scalar("loss", step, step, 2.0) for step in range(10))],
        NAMES[1]: [ef.version(5.0), *(ef.scalar("loss", step, -step, 6.0) for step in range(6, 9))],
    }
    decoded = decode(write(files, folder), restarts="resume")
    assert [row.value for row in decoded.rows] == [0, 1, 2, 3, 4, 5, -6, -7, -8]
    assert [each[1:5] for each in decoded.result.notable()] == [("loss", 4, 6, 9)]
    assert not decode(write(files, folder), restarts="keep").result.notable()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_writer_opened_anew_for_each_step_comes_out_whole_and_in_order(policy: str, folder: Path) -> None:
    """Its files end in .0 .1 .10 … .2: only the TensorBoard rule takes them in plain order of name, and loses most."""
    files = {
        f"events.out.tfevents.1700000000.host.{step}": [
            ef.version(100.0 + step),
            ef.scalar("loss", step, step / 2, 100.5 + step),
        ]
        for step in range(120)
    }
    rows = decode(write(files, folder), restarts=policy).rows
    if policy == "tensorboard":
        assert 0 < len(rows) < 120
        assert rows == reference.scalars(files, policy)
    else:
        assert [row.step for row in rows] == list(range(120))


def test_files_of_one_second_follow_their_numbers(folder: Path) -> None:
    files = {
        f"events.out.tfevents.1700000000.host.{n}": [ef.version(100.0), ef.scalar("loss", n, n, 100.0)]
        for n in (10, 2, 1)
    }
    assert [row.step for row in decode(write(files, folder), restarts="resume").rows] == [1, 2, 10]


@pytest.mark.parametrize("threads", [1, 2, 5, 9])
def test_a_session_restarts_at_its_first_step_however_it_goes_on(threads: int, folder: Path) -> None:
    files = {
        NAMES[0]: [ef.version(1.0), *(ef.scalar("loss", step, step, 2.0) for step in range(10))],
        NAMES[1]: [
            ef.version(5.0),
            *(ef.scalar("loss", step, -step, 6.0) for step in (5, 6, 7, 2, 3, 1, 1, 1)),
        ],
    }
    rows = decode(write(files, folder), restarts="resume", threads=threads, split=40).rows
    assert [row.step for row in rows] == [0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 1, 1, 1]


def test_times_before_1970_order_sessions_too(folder: Path) -> None:
    files = {
        NAMES[0]: [ef.version(-90.0), *(ef.scalar("loss", step, step, -80.0 + step) for step in range(10))],
        NAMES[1]: [ef.version(-50.0), *(ef.scalar("loss", step, -step, -40.0) for step in range(6, 9))],
    }
    rows = decode(write(files, folder), restarts="resume").rows
    assert rows == reference.scalars(files, "resume")
    assert [row.step for row in rows] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
