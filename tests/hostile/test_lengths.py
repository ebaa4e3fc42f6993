"""Lengths that claim more than the file has: nothing is allocated for them, and existing data is read."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import eventfile as ef
import pytest
from framing import prefix, record
from limited import MB, decode_limited

from tbq import _core

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


BEFORE = ef.event_file([ef.version(), ef.scalar("loss", 1, 1.0)])
BEHIND = ef.event_file([ef.scalar("loss", 2, 2.0)])


def test_the_fast_encoder_is_the_plain_one() -> None:
    for data in (b"", b"a", bytes(range(256)) * 9):
        assert record(data) == ef.record(data)


def files(folder: Path, contents: Iterable[bytes]) -> list[Path]:
    paths = []
    for i, data in enumerate(contents):
        paths.append(folder / f"tfevents.{i}")
        paths[-1].write_bytes(data)
    return paths


def test_a_length_that_is_not_there_allocates_nothing(tmp_path: Path) -> None:
    lengths = [2**20, 2**31, 2**32 + 5, 2**60, 2**63 - 1, 2**63, 2**64 - 1]
    at_the_end = [BEFORE + prefix(length) + b"payload" for length in lengths]
    followed = [data + BEHIND for data in at_the_end]
    found = decode_limited(*files(tmp_path, at_the_end + followed), memory=64 * MB)
    for each in found[: len(lengths)]:
        assert (each["rows"], each["records"], each["truncated"], each["faults"]) == (1, 2, 12 + 7, [])
    for each in found[len(lengths) :]:
        assert (each["rows"], each["truncated"], each["faults"], each["lost"]) == (2, 0, ["torn"], 12 + 7)


def nested(count: int, length_of: str) -> bytes:
    """Only valid headers, whose records end in one place, in the middle of other headers, or beyond the file."""
    size = count * 12
    lengths = {
        "one end": lambda i: max(size - i * 12 - 16 - 5, 0),
        "halfway": lambda i: max((size - i * 12) // 2 // 12 * 12 + 1, 0),
        "beyond": lambda i: size + 1000 + i,
        "4 KiB": lambda i: 4096 - i % 12,
        "a record": lambda i: 12 * (i % 1000) + 8,
    }[length_of]
    return b"".join(prefix(lengths(i)) for i in range(count))


@pytest.mark.long
def test_headers_within_headers_cost_no_square(tmp_path: Path) -> None:
    """100,000 headers: checking each one's payload would read 60 gigabytes."""
    kinds = ["one end", "halfway", "beyond", "4 KiB", "a record"]
    paths = files(tmp_path, (BEFORE + nested(100_000, kind) + BEHIND for kind in kinds))
    for kind, found in zip(kinds, decode_limited(*paths, memory=64 * MB, seconds=30), strict=True):
        assert (kind, found["rows"], found["last_step"]) == (kind, 2, 2)


def test_a_hundred_megabytes_of_zeros(tmp_path: Path) -> None:
    path = tmp_path / "tfevents"
    with path.open("wb") as file:
        file.write(BEFORE)
        file.seek(100 * MB, os.SEEK_CUR)  # a hole: it takes no space on disk
        file.write(BEHIND)
    only = tmp_path / "tfevents.zeros"
    with only.open("wb") as file:
        file.truncate(100 * MB)
    between, alone = decode_limited(path, only, memory=32 * MB, seconds=20)
    assert (between["rows"], between["faults"], between["lost"]) == (2, ["zeros"], 100 * MB)
    assert (alone["state"], alone["rows"]) == ("not_events", 0)


def test_a_large_payload_that_nobody_asked_for_is_not_read(tmp_path: Path) -> None:
    """A record of 1 GB (a hole) that is not a scalar: its tag is known, and a record follows."""
    size = 1 << 30
    with (tmp_path / "tfevents").open("wb") as file:
        small = ef.value("big", ef.bytes_field(4, ef.bytes_field(4, b"small")))  # as the large one begins
        known = ef.double_field(1, ef.WALL) + ef.summary(small)
        file.write(BEFORE + record(known))
        inside = ef.varint(4 << 3 | 2) + ef.varint(size)
        value = ef.bytes_field(1, "big") + ef.varint(4 << 3 | 2) + ef.varint(len(inside) + size) + inside
        held = ef.varint(1 << 3 | 2) + ef.varint(len(value) + size) + value
        event = ef.double_field(1, ef.WALL) + ef.varint(5 << 3 | 2) + ef.varint(len(held) + size) + held
        file.write(prefix(len(event) + size) + event)
        file.seek(size + 4, os.SEEK_CUR)
        file.write(BEHIND)
    [found] = decode_limited(tmp_path / "tfevents", memory=32 * MB, seconds=5)
    assert (found["rows"], found["records"], found["faults"]) == (2, 4, [])
    assert found["bytes_read"] < MB


def holed(path: Path, *lengths: int) -> Path:
    """A small file in which a header before each hole claims all of it."""
    with path.open("wb") as file:
        file.write(BEFORE)
        for length in lengths:
            file.write(prefix(length))
            file.seek(length + 4, os.SEEK_CUR)
        file.write(BEHIND)
    return path


def test_holes_that_headers_claim_are_not_read(tmp_path: Path) -> None:
    """16 GiB, which is longer than any event, and ten records of 2 GiB with the checksum of empty data."""
    longest = holed(tmp_path / "tfevents.1", 16 << 30)
    many = holed(tmp_path / "tfevents.2", *[(2 << 30) - 1] * 10)
    for threads in (1, 3):
        one, ten = decode_limited(longest, many, memory=32 * MB, threads=threads)
        assert (one["rows"], one["faults"], one["lost"]) == (2, ["too_long"], (16 << 30) + 16)
        assert (ten["rows"], ten["faults"]) == (2, ["bad_payload"] * 10)
        assert one["bytes_read"] < 4 * MB and ten["bytes_read"] < 8 * MB


_DROP_IN = """
import os, resource, sys
from tbq import _core
from tbq.compat.event_accumulator import EventAccumulator

path, room = sys.argv[1], int(sys.argv[2])
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + room
resource.setrlimit(resource.RLIMIT_AS, (held, held))
records = _core.RecordFile(os.fsencode(path))
found = []
while came := records.records(100):
    found += came
faults, more = records.faults()
loaded = EventAccumulator(path)
loaded.Reload()
print(len(found), [fault[0] for fault in faults], more, [each.step for each in loaded.Scalars("loss")])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
def test_the_drop_in_reader_holds_no_record_longer_than_an_event(tmp_path: Path) -> None:
    path = holed(tmp_path / "events.out.tfevents.1", 2200 << 20)
    done = subprocess.run(
        [sys.executable, "-c", _DROP_IN, str(path), str(512 * MB)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("3 ['too_long'] 0 [1, 2]\n", 0), done.stderr[-2000:]


def test_damage_past_the_listed_places_is_counted_by_the_drop_in_reader(tmp_path: Path) -> None:
    broken = bytearray(BEHIND)
    broken[-1] ^= 1
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(BEFORE + bytes(broken) * 10_007 + BEHIND)
    records = _core.RecordFile(os.fsencode(path))
    while records.records(100):
        pass
    faults, more = records.faults()
    assert (len(faults), more) == (10_000, 7)
    assert records.faults() == ([], 0)


@pytest.mark.long
@pytest.mark.parametrize("value", [b"", ef.bytes_field(1, "a"), ef.bytes_field(4, b"")])
def test_millions_of_values_without_anything(tmp_path: Path, value: bytes) -> None:
    """An event of 8 MB takes 8 MB of memory, even if it has two million empty values."""
    each = ef.bytes_field(1, value)
    summary = each * (8 * MB // len(each))
    event = ef.double_field(1, ef.WALL) + ef.bytes_field(5, summary)
    path = tmp_path / "tfevents"
    path.write_bytes(BEFORE + record(event) + BEHIND)
    [found] = decode_limited(path, memory=64 * MB)
    assert (found["rows"], found["records"], found["faults"]) == (2, 4, [])


def test_deep_groups_are_refused_not_followed(tmp_path: Path) -> None:
    deep = ef.varint(50 << 3 | 3) * 200_000
    closed = deep + ef.varint(50 << 3 | 4) * 200_000
    flat = ef.group_field(50) * 100_000
    payloads = [
        deep,
        closed,
        ef.event(ef.summary(ef.value("deep", closed, ef.float_field(2, 1.0)))),
        ef.event(ef.summary(ef.value("deep", ef.bytes_field(8, closed), ef.SCALARS))),
        ef.event(ef.summary(ef.value("deep", ef.bytes_field(9, closed), ef.float_field(2, 1.0)))),
        ef.event(flat, step=3),
    ]
    path = tmp_path / "tfevents"
    path.write_bytes(BEFORE + b"".join(map(record, payloads)) + BEHIND)
    [found] = decode_limited(path, memory=64 * MB, seconds=10)
    assert found["last_step"] == 2
    assert found["records"] == 3 + len(payloads)
    assert set(found["faults"]) == {"bad_event"}


@pytest.mark.long
def test_messages_within_messages_are_not_followed(tmp_path: Path) -> None:
    """A summary within a summary, 20,000 deep: only the levels of the format are parsed."""
    payload = b""
    for _ in range(20_000):
        payload = ef.bytes_field(1, payload)
    path = tmp_path / "tfevents"
    path.write_bytes(BEFORE + record(ef.bytes_field(5, payload)) + BEHIND)
    [found] = decode_limited(path, memory=64 * MB, seconds=10)
    assert found["rows"] == 2


@pytest.mark.long
def test_tags_of_a_megabyte(tmp_path: Path) -> None:
    path = tmp_path / "tfevents"
    tags = [bytes([65 + i]) * MB for i in range(20)]
    path.write_bytes(BEFORE + b"".join(record(ef.scalar(tag, 5, 1.0)) for tag in tags * 2) + BEHIND)
    [found] = decode_limited(path, memory=400 * MB)
    assert (found["rows"], found["tags"]) == (42, 21)


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 2])
def test_many_tags_cost_memory_by_what_is_kept(threads: int, tmp_path: Path) -> None:
    """60,000 tags of one row each: 3 KB per tag, without the 6 KB of a column of 256 rows."""
    path = tmp_path / "tfevents"
    with path.open("wb") as file:
        file.write(BEFORE)
        for i in range(60_000):
            file.write(record(ef.scalar(f"tag/{i}", 1, 1.0)))
    [found] = decode_limited(path, memory=220 * MB, threads=threads)
    assert (found["rows"], found["tags"]) == (60_001, 60_001)


@pytest.mark.long
@pytest.mark.parametrize("restarts", ["resume", "tensorboard"])
def test_many_sessions_in_one_file(restarts: str, tmp_path: Path) -> None:
    """40,000 sessions of one step each, as a merged file of a writer opened anew for each step has them."""
    path = tmp_path / "tfevents"
    with path.open("wb") as file:
        for i in range(40_000):
            file.write(record(ef.version(100.0 + i)) + record(ef.scalar("loss", i, 1.0, 100.5 + i)))
    [found] = decode_limited(path, memory=120 * MB, seconds=20, restarts=restarts)
    assert (found["rows"], found["sessions"], found["last_step"]) == (40_000, 40_000, 39_999)


def test_many_faults_are_counted_beyond_those_listed(tmp_path: Path) -> None:
    good = ef.record(ef.scalar("loss", 1, 1.0))
    bad = good[:20] + b"\xff" + good[21:]
    path = tmp_path / "tfevents"
    path.write_bytes((good + bad) * 30_000 + good)
    [found] = decode_limited(path, memory=64 * MB)
    assert found["rows"] == 30_001
    assert len(found["faults"]) + found["more_faults"] == 30_000
    assert found["lost"] == 30_000 * len(bad)


@pytest.mark.long
def test_a_million_values_in_one_event(tmp_path: Path) -> None:
    held = ef.bytes_field(1, ef.value("x", ef.float_field(2, 1.0))) * 1_000_000
    path = tmp_path / "tfevents"
    path.write_bytes(BEFORE + record(ef.event(ef.bytes_field(5, held), step=1)) + BEHIND)
    [found] = decode_limited(path, memory=300 * MB)
    assert found["rows"] == 1_000_002
