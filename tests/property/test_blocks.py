"""Block size, split size and the number of threads change nothing in the table, on valid and on damaged files."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import eventfile as ef
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from tables import Decoded, decode, decode_bytes

if TYPE_CHECKING:
    from pathlib import Path


def sample(seed: int, events: int) -> bytes:
    """A file with everything: both kinds of scalars, large values, sessions, restarts inside a session."""
    chance = random.Random(seed)
    payloads = [ef.version()]
    for i in range(events):
        step = chance.randrange(-2, 40)
        wall = ef.WALL + i
        kind = chance.choice(["loss"] * 6 + ["v2", "bare", "image", "text", "version", "START", "mixed"])
        if kind == "loss":
            payloads.append(ef.scalar(chance.choice(["loss", "acc"]), step, chance.random(), wall))
        elif kind in ("v2", "bare"):
            meta = ef.SCALARS if kind == "v2" else b""
            payloads.append(
                ef.tensor_scalar("v2", step, chance.random(), dtype="float64", meta=meta, wall=wall)
            )
        elif kind == "image":
            payloads.append(ef.image("sample", step, bytes(chance.choice([10, 5000])), wall=wall))
        elif kind == "text":
            payloads.append(ef.text("note", step, b"words" * chance.choice([1, 1000]), wall))
        elif kind == "version":
            payloads.append(ef.version(wall))
        elif kind == "START":
            payloads.append(ef.session_log(1, step, wall))
        else:
            image = ef.value("sample", ef.bytes_field(4, ef.bytes_field(4, bytes(5000))))
            number = ef.value("loss", ef.float_field(2, chance.random()))
            payloads.append(ef.event(ef.summary(image, number), step=step, wall=wall))
    return ef.event_file(payloads)


def damage(data: bytes, seed: int, hits: int) -> bytes:
    """Flips, holes, cuts and insertions at random places."""
    chance = random.Random(seed)
    out = bytearray(data)
    for _ in range(hits):
        at = chance.randrange(len(out))
        size = chance.choice([1, 4, 30, 300])
        how = chance.choice(["flip", "zeros", "cut", "put", "header", "copy"])
        if how == "flip":
            out[at] ^= 1 << chance.randrange(8)
        elif how == "zeros":
            out[at : at + size] = bytes(len(out[at : at + size]))
        elif how == "cut":
            del out[at : at + size]
        elif how == "put":
            out[at:at] = chance.randbytes(size)
        elif how == "header":
            out[at:at] = ef.header(chance.choice([0, 3, 50, 500, 5000, 2**40, 2**63, 2**64 - 1]))
        else:
            begin = chance.randrange(len(out))
            out[at:at] = out[begin : begin + chance.choice([20, 200, 2000])]
        if not out:
            break
    return bytes(out)


def seen(decoded: Decoded) -> Any:
    """Everything that must not depend on how the file was read."""
    series = [
        (
            each["tag"],
            each["kind"],
            each["count"],
            each["rows"],
            each["first_step"],
            each["min_step"],
            each["max_step"],
        )
        for each in _series(decoded)
    ]
    report = decoded.files[0]
    lost = [(f.code, f.offset, f.length, f.step_before, f.step_after) for f in report.faults]
    return (
        decoded.rows,
        series,
        (report.state, report.records, report.values, report.sessions, report.truncated, report.lost_bytes),
        (
            report.resume,
            report.first_step,
            report.last_step,
            report.max_step,
            report.first_wall_time,
            report.last_wall_time,
        ),
        lost,
    )


def _series(decoded: Decoded) -> list[dict[str, Any]]:
    import pyarrow as pa

    return pa.table(decoded.result.series(["run"])).to_pylist()


BLOCKS = st.one_of(st.integers(1, 40), st.sampled_from([100, 4096, 5000, 65536, 1 << 18]))


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    events=st.integers(1, 60),
    hits=st.integers(0, 4),
    block=BLOCKS,
    policy=st.sampled_from(["resume", "keep", "last", "tensorboard"]),
)
def test_any_block_size_gives_the_same_table(
    seed: int, events: int, hits: int, block: int, policy: str, folder: Path
) -> None:
    data = damage(sample(seed, events), seed, hits)
    assert seen(decode_bytes(data, folder, restarts=policy, block=block)) == seen(
        decode_bytes(data, folder, restarts=policy, block=1 << 20)
    )


@examples(80)
@given(
    seed=st.integers(0, 10**6),
    events=st.integers(2, 60),
    hits=st.integers(0, 3),
    block=BLOCKS,
    split=st.sampled_from([1, 30, 100, 700, 5000]),
    threads=st.integers(2, 9),
    policy=st.sampled_from(["resume", "keep", "last", "tensorboard"]),
)
def test_any_split_and_number_of_threads_gives_the_same_table(
    seed: int, events: int, hits: int, block: int, split: int, threads: int, policy: str, folder: Path
) -> None:
    data = damage(sample(seed, events), seed, hits)
    whole = decode_bytes(data, folder, restarts=policy)
    split_up = decode_bytes(data, folder, restarts=policy, block=block, split=split, threads=threads)
    assert seen(split_up) == seen(whole)


def test_an_event_file_inside_a_text_is_never_taken_for_records(folder: Path) -> None:
    """A part that begins inside the text finds records there; the walk from the file's start knows better."""
    inner = ef.event_file([ef.version(), *(ef.scalar("inner", step, step) for step in range(60))])
    payloads = [ef.version()]
    for step in range(6):
        payloads += [ef.scalar("outer", step, step), ef.text("file", step, inner)]
    data = ef.event_file(payloads)
    for threads in range(1, 12):
        rows = decode_bytes(data, folder, threads=threads, split=50, block=64).rows
        assert [(row.tag, row.step) for row in rows] == [("outer", step) for step in range(6)]


def test_many_runs_on_many_threads(folder: Path) -> None:
    import os

    import pyarrow as pa

    from tbq import _core

    paths = []
    for run in range(40):
        path = folder / f"many.tfevents.{run}"
        path.write_bytes(
            ef.event_file([ef.version(), *(ef.scalar(f"t{run % 3}", s, run + s) for s in range(run))])
        )
        paths.append(os.fsencode(path))
    names = [f"run{i:02}" for i in range(20)]

    def table(threads: int, split: int) -> Any:
        result = _core.decode(
            paths, [i // 2 for i in range(40)], ["scalars"], None, -(2**63), 2**63 - 1, "keep",
            threads, 1 << 16, split, False, None, None,
        )  # fmt: skip
        return pa.table(result.scalars(names)).to_pylist()

    want = table(1, 1 << 24)
    assert len(want) == sum(range(40))
    assert [(row["run"], row["tag"]) for row in want] == sorted((row["run"], row["tag"]) for row in want)
    for threads, split in ((2, 1 << 24), (3, 100), (8, 1), (64, 500)):
        assert table(threads, split) == want


def test_long_series_cross_every_size_of_chunk(folder: Path) -> None:
    """70,000 rows of one tag, with another one between them, in one piece and in several."""
    one = ef.record(ef.scalar("b", 1, 0.5))
    record = {step: ef.record(ef.scalar("a", step, 1.0)) for step in (1, 2, 3)}
    data = ef.record(ef.version()) + (record[1] + one + record[2] + record[3]) * 23_400
    path = folder / "long.tfevents"
    path.write_bytes(data)
    want = [("a", step) for _ in range(23_400) for step in (1, 2, 3)] + [("b", 1)] * 23_400
    for threads in (1, 3):
        rows = decode([path], threads=threads, split=1 << 20).rows
        assert [(row.tag, row.step) for row in rows] == want
    last = decode([path], restarts="last", threads=3, split=1 << 20).rows
    assert [(row.tag, row.step) for row in last] == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
