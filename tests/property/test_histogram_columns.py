"""The fast path for histograms gives the same as the general path: any mix of shapes, writers, runs and restarts."""

from __future__ import annotations

import os
import random
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import eventfile as ef
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq import _core
from tbq.select import MAX_STEP, MIN_STEP

if TYPE_CHECKING:
    from pathlib import Path


class Logged(NamedTuple):
    """One expected histogram; `buckets` is None if it cannot be read."""

    tag: str
    step: int
    wall: float
    buckets: list[tuple[float, ...]] | None


def shape(*sizes: int) -> bytes:
    return ef.bytes_field(2, [ef.bytes_field(2, ef.int_field(1, size)) for size in sizes])


def tensor(buckets: list[tuple[float, ...]], how: str) -> bytes:
    """A TensorProto of [k, 3] doubles in one of the ways that writers have."""
    numbers = [number for bucket in buckets for number in bucket]
    packed = struct.pack(f"<{len(numbers)}d", *numbers)
    if how == "list":
        return ef.int_field(1, 2) + shape(len(buckets), 3) + ef.bytes_field(6, packed)
    if how == "float32":
        data = struct.pack(f"<{len(numbers)}f", *numbers)
        return ef.int_field(1, 1) + shape(len(buckets), 3) + ef.bytes_field(4, data)
    if how == "dtype last":
        return shape(len(buckets), 3) + ef.bytes_field(4, packed) + ef.int_field(1, 2)
    if how == "flat":
        return ef.int_field(1, 2) + shape(len(numbers)) + ef.bytes_field(4, packed)
    if how == "short":
        return ef.int_field(1, 2) + shape(len(buckets) + 1, 3) + ef.bytes_field(4, packed)
    return ef.int_field(1, 2) + shape(len(buckets), 3) + ef.bytes_field(4, packed)


TENSORS = ["usual"] * 30 + ["list", "float32", "dtype last", "flat", "short", "scalar", "step last"]


def file(
    chance: random.Random, events: int, tags: int, widths: list[int], more: tuple[str, ...] = ()
) -> tuple[bytes, list[Logged]]:
    """An event file, mostly of one way to write each tag, and what is in it."""
    payloads = [ef.version()]
    logged = []
    every = [chance.random() < 0.3 for _ in range(tags)]  # metadata on every event, else on the first
    for i in range(events):
        number = i % tags if chance.random() < 0.9 else chance.randrange(tags)
        tag, step, wall = f"h{number}", i // tags, ef.WALL + i
        how = chance.choice([*TENSORS, *more])
        buckets = [(float(k), k + 1.0, float(chance.randrange(1, 9))) for k in range(chance.choice(widths))]
        if how == "scalar":
            payloads.append(ef.scalar("loss", step, 0.5, wall))
            continue
        seen = any(each.tag == tag for each in logged)
        meta = ef.metadata("histograms") if every[number] or not seen else b""
        if how == "v1":
            limits = struct.pack(f"<{len(buckets)}d", *(b[1] for b in buckets))
            counts = struct.pack(f"<{len(buckets)}d", *(b[2] for b in buckets))
            histo = (
                ef.double_field(1, 0.0)
                + ef.double_field(2, float(len(buckets)))
                + ef.bytes_field(6, limits)
                + ef.bytes_field(7, counts)
            )
            body = ef.bytes_field(5, histo)
        elif how == "none":
            body = b""
        else:
            body = ef.bytes_field(8, tensor(buckets, how))
        order = ("wall", "fields", "step") if how == "step last" else ("wall", "step", "fields")
        payloads.append(ef.event(ef.summary(ef.value(tag, body, meta)), step=step, wall=wall, order=order))
        bad = how in ("flat", "none") or (how == "short" and bool(buckets))
        if how == "short" and not buckets:
            buckets = [(0.0, 0.0, 0.0)]
        logged.append(Logged(tag, step, wall, None if bad and (buckets or how == "none") else buckets))
    return ef.event_file(payloads), logged


def read(paths: list[Path], restarts: str = "keep", **options: Any) -> list[Logged]:
    result = _core.decode(
        [os.fsencode(path) for path in paths],
        [0] * len(paths),
        ["histograms"],
        None,
        MIN_STEP,
        MAX_STEP,
        restarts,
        options.get("threads", 1),
        options.get("block", 1 << 18),
        options.get("split", 16 << 20),
        options.get("defer", False),
        None,
        None,
    )
    table = pa.table(_core.table(result, "histograms", ["run"], options.get("rows")))
    del result  # the table keeps what it points to
    table.validate(full=True)
    rows = []
    for row in table.to_pylist():
        columns = [row[name] for name in ("left", "right", "count")]
        buckets = None if columns[0] is None else list(zip(*columns, strict=True))
        rows.append(Logged(row["tag"], row["step"], row["wall_time"], buckets))
    return rows


def by_tag(logged: list[Logged]) -> list[Logged]:
    return sorted(logged, key=lambda each: each.tag)


@examples(25)
@given(
    st.integers(0, 10**6),
    st.integers(0, 250),
    st.integers(1, 5),
    st.sampled_from([[3], [30], [100], [1, 2, 3], [0, 5]]),
    st.sampled_from([1 << 12, 1 << 18]),
)
def test_columns_are_what_was_logged(
    tmp_path_factory: pytest.TempPathFactory, seed: int, events: int, tags: int, widths: list[int], block: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "events.out.tfevents.1.host"
    for odd in (("v1", "none"), ()):
        data, logged = file(random.Random(seed), events, tags, widths, odd)
        path.write_bytes(data)
        want = by_tag(logged)
        assert read([path], block=block) == want
        assert read([path], block=block, threads=3, split=4096) == want
        assert read([path], block=block, defer=True) == want
    some = sorted(random.Random(seed).sample(range(len(want)), len(want) // 2))
    assert read([path], rows=some) == [want[i] for i in some]


def test_a_restart_cuts_columns(tmp_path: Path) -> None:
    """Long columns whose end the second session drops."""
    chance = random.Random(0)
    paths = []
    kept = []
    for session, (first, last) in enumerate([(0, 500), (400, 900)]):
        payloads = [ef.version(ef.WALL + 1000 * session)]
        for step in range(first, last):
            buckets = [(float(k), k + 1.0, chance.random()) for k in range(40)]
            wall = ef.WALL + 1000 * session + step
            meta = ef.metadata("histograms")
            body = ef.bytes_field(8, tensor(buckets, "usual"))
            payloads.append(ef.event(ef.summary(ef.value("h", body, meta)), step=step, wall=wall))
            if session == 1 or step < 400:
                kept.append(Logged("h", step, wall, buckets))
        paths.append(tmp_path / f"events.out.tfevents.{session}.host")
        paths[-1].write_bytes(ef.event_file(payloads))
    assert read(paths, "resume") == kept
    assert read(paths, "last") == kept


def test_tables_outlive_each_other(tmp_path: Path) -> None:
    """Memory that a table points to is not used again while the table lives."""
    chance = random.Random(1)
    wanted = []
    tables = []
    for number in range(3):
        data, logged = file(chance, 600, 2, [60])
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "events.out.tfevents.1.host").write_bytes(data)
        wanted.append([each.buckets for each in by_tag(logged)])
        tables.append(tbq.open(folder).histograms(on_error="ignore").to_arrow())
    for table, want in zip(tables, wanted, strict=True):
        columns = (table[name].to_pylist() for name in ("left", "right", "count"))
        got = [
            None if each[0] is None else list(zip(*each, strict=True)) for each in zip(*columns, strict=True)
        ]
        assert got == want
