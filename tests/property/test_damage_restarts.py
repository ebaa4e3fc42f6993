"""Damage meets restarts, large records of every kind, filters, fast paths and threads: the remaining rows are those
of the valid records, however they are read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import eventfile as ef
import livelog
import pyarrow as pa
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from profiles import examples
from tables import comparable

import tbq
from tbq import _core
from tbq.select import MAX_STEP, MIN_STEP

KINDS = ["scalars", "tensors", "histograms", "images", "audio", "texts"]
POLICIES = ["keep", "resume", "last", "tensorboard"]
NAMES = [f"events.out.tfevents.{start}.host.{n}" for start in (9, 10) for n in (0, 2)]
SIZES = [4, 4200, 20_000]  # in the batch, read alone, perhaps skipped

META = {kind: livelog.META[kind] for kind in ("tensors", "histograms", "images", "texts", "scalars")}


@st.composite
def values(draw: Any) -> bytes:
    """A Value: a number, or a value of any kind and size, with or without metadata."""
    what = draw(st.sampled_from(["loss", "loss", "acc", "v2", "image", "histo", "audio", "tensor", "tensor"]))
    size = draw(st.sampled_from(SIZES))
    if what in ("loss", "acc"):
        return ef.value(what, ef.float_field(2, draw(st.integers(0, 9))))
    if what == "v2":
        return ef.value("v2", ef.tensor("float64", [draw(st.integers(0, 9))]), ef.SCALARS)
    if what == "image":
        return ef.value("old/image", ef.bytes_field(4, ef.bytes_field(4, b"\x89PNG" + bytes(size))))
    if what == "histo":
        body = [ef.double_field(1, 0.0), ef.double_field(2, 1.0)]
        body += [ef.double_field(6, 1.0), ef.double_field(7, 3.0)] * (size // 18 + 1)
        return ef.value("old/histogram", ef.bytes_field(5, body))
    if what == "audio":
        return ef.value("old/audio", ef.bytes_field(6, ef.bytes_field(4, b"RIFF" + bytes(size))))
    kind = draw(st.sampled_from(list(META)))
    # A tag may be logged as several kinds; its first metadata applies to all of them.
    tag = draw(st.sampled_from([kind, kind, kind, "mixed"]))
    meta = META[kind] if draw(st.integers(0, 2)) else b""
    return ef.value(tag, livelog.tensor_of(kind, size), meta)


@st.composite
def files(draw: Any) -> reference.Files:
    """A run of one or more files, each with one or more sessions, which run in sequence or in parallel."""
    made: reference.Files = {}
    wall = 100.0
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)):
        payloads: list[bytes] = []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
            wall += draw(st.sampled_from([-3.0, 0.5, 10.0]))
            payloads.append(ef.version(wall))
            at = wall
            for _ in range(draw(st.integers(0, 8))):
                at += draw(st.sampled_from([0.25, 0.25, 1.0, 1.0, -20.0]))  # a clock may be put back
                step = draw(st.integers(0, 9))
                if draw(st.integers(0, 15)) == 0:
                    payloads.append(ef.session_log(1, step, at))
                    continue
                some = draw(st.lists(values(), min_size=1, max_size=2))
                payloads.append(ef.event(ef.summary(*some), step=step, wall=at))
            wall = max(wall, at)
        made[name] = payloads
    return made


def decode(paths: list[Path], kind: str, policy: str, **options: Any) -> Any:
    given = {
        "select": None, "first_step": MIN_STEP, "last_step": MAX_STEP, "threads": 1, "block": 1 << 18,
        "split": 16 << 20, "defer": kind != "scalars", "progress": None, "inflate": None, **options,
    }  # fmt: skip
    return _core.decode(
        [os.fsencode(path) for path in paths], [0] * len(paths), [kind], restarts=policy, **given
    )


def _keys(stream: Any) -> list[tuple[str, int, float]]:
    table = pa.table(stream)
    columns = (table[name].to_pylist() for name in ("tag", "step", "wall_time"))
    return [(tag, step, comparable(wall)) for tag, step, wall in zip(*columns, strict=True)]


def rows_of(result: Any, kind: str) -> list[tuple[str, int, float]]:
    """Tag, step and wall time of each value; checks that the loaded table has rows of no other values."""
    if kind == "scalars":
        return _keys(result.scalars(["run"]))
    found = _keys(_core.keys(result, kind, ["run"]))
    loaded = _keys(_core.table(result, kind, ["run"], None, None))
    assert set(loaded) <= set(found)
    assert all(code != "bad_payload" for code, *_ in _core.value_problems(result)[0])
    return found


def faults_of(result: Any) -> list[Any]:
    return [
        [(f.code, f.offset, f.length, f.step_before, f.step_after) for f in report.faults]
        for report in result.files
    ]


class Damaged(NamedTuple):
    """A run, its files with bits flipped, and which records of each file were hit."""

    made: reference.Files
    data: dict[str, bytes]
    hit: dict[str, set[int]]

    def __repr__(self) -> str:
        heads = {name: [payload[:160] for payload in payloads] for name, payloads in self.made.items()}
        return f"Damaged({heads}, hit={self.hit})"


@st.composite
def damaged(draw: Any) -> Damaged:
    made = draw(files())
    data: dict[str, bytes] = {}
    hit: dict[str, set[int]] = {}
    for name, payloads in made.items():
        records = [ef.record(payload) for payload in payloads]
        hit[name] = set(draw(st.lists(st.integers(0, len(records) - 1), max_size=2)))
        for index in hit[name]:
            record = bytearray(records[index])
            # The head of an event, where its time, step and tag are, is hit more often than a payload.
            place = draw(
                st.one_of(st.integers(12, min(60, len(record) - 1)), st.integers(0, len(record) - 1))
            )
            record[place] ^= 1 << draw(st.integers(0, 7))
            records[index] = bytes(record)
        data[name] = b"".join(records)
    return Damaged(made, data, hit)


def write(data: dict[str, bytes], folder: Path) -> list[Path]:
    for old in folder.iterdir():
        old.unlink()
    for name, content in data.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in data]


@pytest.mark.long
@examples(150)
@given(
    log=damaged(),
    kind=st.sampled_from(KINDS),
    policy=st.sampled_from(POLICIES),
    steps=st.sampled_from([(MIN_STEP, MAX_STEP), (3, 6), (0, 0)]),
    options=st.fixed_dictionaries(
        {
            "threads": st.integers(1, 8),
            "split": st.sampled_from([1, 300, 5000]),
            "block": st.sampled_from([1, 64, 4096, 1 << 18]),
            "general_only": st.booleans(),
            "verify": st.booleans(),
        }
    ),
)
def test_what_is_left_are_the_rows_of_sound_records(
    log: Damaged, kind: str, policy: str, steps: tuple[int, int], options: dict[str, Any], folder: Path
) -> None:
    made, data, hit = log
    paths = write(data, folder)
    sound = {
        name: [payload for i, payload in enumerate(payloads) if i not in hit[name]]
        for name, payloads in made.items()
    }
    want = reference.keys({name: left for name, left in sound.items() if left}, kind, policy, steps)
    began = reference.began(sound)
    bounds = {"first_step": steps[0], "last_step": steps[1]}
    plain = decode(paths, kind, policy, **bounds)
    assert rows_of(plain, kind) == want
    other = decode(paths, kind, policy, **bounds, **options)
    assert rows_of(other, kind) == want
    assert plain.run_starts() == other.run_starts() == ({} if began is None else {0: began})
    if not options["verify"]:
        assert faults_of(other) == faults_of(plain)
    verified = decode(paths, kind, policy, verify=True)
    lost = [sum(16 + len(made[name][i]) for i in lost) for name, lost in hit.items()]
    assert [sum(fault[2] for fault in found) for found in faults_of(verified)] == lost


@pytest.mark.long
@examples(80)
@given(log=damaged(), policy=st.sampled_from(POLICIES), threads=st.integers(1, 4))
def test_counts_are_those_of_the_tables(log: Damaged, policy: str, threads: int, folder: Path) -> None:
    _, data, _ = log
    paths = write(data, folder)
    result = _core.decode(
        [os.fsencode(path) for path in paths], [0] * len(paths), [], None, MIN_STEP, MAX_STEP, policy, threads,
        1 << 16, 300, False, None, None, count=True,
    )  # fmt: skip
    counted = {
        (row["kind"], row["tag"]): row
        for row in pa.table(result.series(["run"])).to_pylist()
        if row["kind"] in KINDS and row["count"]
    }
    for kind in KINDS:
        rows: dict[str, list[int]] = {}
        for tag, step, _ in rows_of(decode(paths, kind, policy), kind):
            rows.setdefault(tag, []).append(step)
        found = {tag: row for (of_kind, tag), row in counted.items() if of_kind == kind}
        assert {tag: row["count"] for tag, row in found.items()} == {tag: len(of) for tag, of in rows.items()}
        for tag, of_tag in rows.items():
            row = found[tag]
            assert (row["first_step"], row["last_step"]) == (of_tag[0], of_tag[-1])
            assert (row["min_step"], row["max_step"]) == (min(of_tag), max(of_tag))


def test_a_flip_in_the_time_of_an_image_decides_nothing(folder: Path) -> None:
    """Its session would otherwise seem to overlap the next one, and nothing would be dropped."""
    image = ef.image("sample", 9, bytes(17_000), wall=110.0)
    first = [ef.version(100.0), *(ef.scalar("loss", s, s, 101.0 + s) for s in range(10)), image, image]
    second = [ef.version(200.0), *(ef.scalar("loss", s, -s, 201.0 + s) for s in range(5, 12))]
    want = [*range(12)]
    late = bytearray(ef.record(image))
    late[12 + 8] ^= 0x40  # the exponent of the wall time: about 10^300 times as large
    one_file = [*map(ef.record, first[:-1]), bytes(late), *map(ef.record, second)]
    for data in (
        {NAMES[0]: b"".join(one_file)},
        {NAMES[0]: b"".join(one_file[: len(first)]), NAMES[1]: b"".join(one_file[len(first) :])},
    ):
        paths = write(data, folder)
        for threads in (1, 2, 5):
            result = decode(paths, "scalars", "resume", threads=threads, split=200)
            assert [step for _, step, _ in rows_of(result, "scalars")] == want
            assert sum(len(found) for found in faults_of(result)) == 1


def test_a_damaged_step_of_an_image_drops_no_other(folder: Path) -> None:
    payloads = [
        ef.version(100.0),
        *(ef.image("sample", s, bytes(17_000), wall=101.0 + s) for s in range(1, 11)),
    ]
    again = [ef.version(200.0), ef.image("sample", 10, bytes(17_000), wall=201.0)]
    records = [*map(ef.record, payloads), *map(ef.record, again)]
    broken = bytearray(records[-1])
    assert broken[12 + 9 : 12 + 11] == b"\x10\x0a"  # step 10
    broken[12 + 10] = 1
    paths = write({NAMES[0]: b"".join(records[:-1]) + bytes(broken)}, folder)
    for policy in POLICIES:
        steps = [step for _, step, _ in rows_of(decode(paths, "images", policy), "images")]
        assert steps == list(range(1, 11))


def test_a_scalar_beside_a_damaged_image_is_not_delivered(folder: Path) -> None:
    image = ef.value("sample", ef.bytes_field(4, ef.bytes_field(4, bytes(17_000))))
    event = ef.event(ef.summary(image, ef.value("loss", ef.float_field(2, 0.5))), step=1)
    data = bytearray(
        ef.event_file([ef.version(), ef.event(ef.summary(image)), event, ef.scalar("loss", 2, 1.0)])
    )
    data[-200] ^= 1  # inside the image
    paths = write({NAMES[0]: bytes(data)}, folder)
    result = _core.decode(
        [os.fsencode(paths[0])], [0], ["scalars", "images"], None, MIN_STEP, MAX_STEP, "resume", 1, 1 << 18,
        16 << 20, True, None, None,
    )  # fmt: skip
    assert [row[:2] for row in rows_of(result, "scalars")] == [("loss", 2)]
    assert len(rows_of(result, "images")) == 1


def test_metadata_that_comes_later_does_not_move_values(folder: Path) -> None:
    """Old and new summaries under one tag, and its plugin is known only at the end, or in another file."""
    events = [
        ef.scalar("loss", step, step) if step % 2 else ef.tensor_scalar("loss", step, step, meta=b"")
        for step in range(5)
    ]
    last = ef.tensor_scalar("loss", 5, 5.0)
    for data in (
        {NAMES[0]: ef.event_file([ef.version(), *events, last])},
        {NAMES[0]: ef.event_file([ef.version(), *events]), NAMES[1]: ef.event_file([ef.version(9e9), last])},
    ):
        paths = write(data, folder)
        for threads in (1, 2, 4):
            result = decode(paths, "scalars", "resume", threads=threads, split=1)
            assert [step for _, step, _ in rows_of(result, "scalars")] == list(range(6))


def test_a_large_record_whose_header_crosses_a_block_is_not_read(folder: Path) -> None:
    big = ef.image("sample", 1, bytes(4 << 20))
    payloads = [
        ef.version(),
        ef.image("sample", 0, b"small"),
        ef.scalar("loss", 0, 0.0),
        big,
        ef.scalar("loss", 1, 1.0),
    ]
    paths = write({NAMES[0]: ef.event_file(payloads)}, folder)
    before = len(ef.event_file(payloads[:3]))
    for block in (before + 5, before + 11, before + 12, 1 << 16):
        result = decode(paths, "scalars", "resume", block=block)
        assert [step for _, step, _ in rows_of(result, "scalars")] == [0, 1]
        assert result.files[0].bytes_read < 1 << 20


@pytest.mark.long
@examples(60)
@given(log=damaged(), threads=st.integers(1, 3))
def test_a_repair_that_resolves_restarts_leaves_the_rows_of_the_tables(
    log: Damaged, threads: int, folder: Path
) -> None:
    made, data, hit = log
    paths = write(data, folder)
    assume(any(len(hit[name]) < len(payloads) for name, payloads in made.items()))
    want = {kind: rows_of(decode(paths, kind, "resume"), kind) for kind in KINDS}
    with tempfile.TemporaryDirectory() as out:
        tbq.rewrite(folder, f"{out}/new", repair=True, restarts="resume", threads=threads)
        new = sorted(Path(out, "new").iterdir())
        for kind in KINDS:
            assert rows_of(decode(new, kind, "keep"), kind) == want[kind]
