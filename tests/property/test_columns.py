"""Whichever columns are selected: their contents are the same, and only they are made."""

from __future__ import annotations

import random
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eventfile as ef
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq import decode
from tbq.kinds.values import Values, locate
from tbq.query.scanning import Scan
from tbq.query.sql import sql
from tbq.schema import schema
from tbq.select import Selection

BULK = 30_000
LARGE = 5  # values of each tag
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x07\0\0\0\x05" + bytes(BULK)
JPEG = b"\xff\xd8\xff\xe0\0\x04__" + b"\xff\xe1\x80\0" + bytes(0x7FFE) + b"\xff\xc0\0\x11\x08\0\x05\0\x07"


def wav(samples: int, before: bytes = b"") -> bytes:
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    return b"RIFF____WAVE" + form + before + b"data" + struct.pack("<I", samples * 2) + bytes(samples * 2)


def logged(step: int, tag: str, field: bytes, plugin: str | None = None) -> bytes:
    meta = b"" if plugin is None else ef.metadata(plugin, data_class=3)
    return ef.event(ef.summary(ef.value(tag, field, meta)), step=step)


def tensor(step: int, tag: str, plugin: str, *values: Any, dtype: str = "string", **how: Any) -> bytes:
    return logged(step, tag, ef.tensor(dtype, values, **how), plugin)


def no_size(step: int) -> bytes:
    """An image whose size is only in the JPEG itself, far after its beginning."""
    return logged(step, "image/bare", ef.bytes_field(4, ef.bytes_field(4, JPEG)))


#: tag → an event of it at a step, with the value in full length
EVENTS: dict[str, Callable[[int], bytes]] = {
    "image/v1": lambda step: ef.image("image/v1", step, PNG, width=3, height=4),
    "image/v2": lambda step: ef.tensor_images("image/v2", step, PNG, JPEG, b"GIF89a\1\0\2\0"),
    "image/bare": no_size,
    "image/none": lambda step: tensor(step, "image/none", "images", bytes(BULK), dims=(1,)),
    "audio/v1": lambda step: ef.audio("audio/v1", step, wav(BULK // 2)),
    "audio/v2": lambda step: tensor(
        step, "audio/v2", "audio", wav(BULK // 2), b"a label", wav(9), bytes(5000), dims=(2, 2)
    ),
    "audio/late": lambda step: tensor(
        step, "audio/late", "audio", wav(70, b"LIST" + struct.pack("<I", 9000) + bytes(9000)), dims=(1,)
    ),
    "audio/ogg": lambda step: tensor(step, "audio/ogg", "audio", b"OggS" + bytes(BULK), dims=(1,)),
    "text": lambda step: tensor(step, "text", "text", b"a" * BULK, b"short", b"\xff" * 5000, dims=(3,)),
    "tensor/content": lambda step: tensor(
        step, "tensor/content", "", *[1.0] * 10_000, dtype="float32", dims=(100, 100)
    ),
    "tensor/packed": lambda step: tensor(
        step, "tensor/packed", "", *[1.0] * 9000, dtype="float64", dims=(100, 100), how="packed"
    ),
    "tensor/ints": lambda step: tensor(
        step, "tensor/ints", "", *range(5000), dtype="int64", dims=(5000,), how="packed"
    ),
    "tensor/texts": lambda step: tensor(step, "tensor/texts", "", b"t" * BULK, b"u", dims=(2,)),
    "tensor/wrong": lambda step: tensor(
        step, "tensor/wrong", "", *[1.0] * 10_000, dtype="float32", dims=(100, 101)
    ),
    "tensor/long": lambda step: tensor(
        step, "tensor/long", "", *[1.0] * 10_000, dtype="float32", dims=(10,), how="packed"
    ),
    "histogram/v1": lambda step: ef.histo("histogram/v1", step, range(1, 3000), [1.0] * 2999),
    "histogram/v2": lambda step: tensor(
        step, "histogram/v2", "histograms", *[1.0] * 3000, dtype="float64", dims=(1000, 3)
    ),
    "other": lambda step: tensor(step, "other", "mine", bytes(BULK), dims=(1,)),
    "graph": lambda step: ef.event(
        ef.bytes_field(4, [ef.bytes_field(1, ef.bytes_field(1, "n" * BULK)) for _ in range(2)]), step=step
    ),
}
TABLES = ("images", "audio", "texts", "tensors", "histograms", "others", "graphs")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    root = tmp_path_factory.mktemp("columns")
    events = [ef.version(), *(make(step) for make in EVENTS.values() for step in range(LARGE))]
    (root / "events.out.tfevents.1.host").write_bytes(ef.event_file(events))
    return tbq.open(root)


@pytest.fixture(scope="module")
def whole(log: tbq.LogDir) -> dict[str, pa.Table]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tbq.TbqWarning)
        return {name: log.table(name).to_arrow() for name in TABLES}


def some(name: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(schema(name).names), min_size=1, unique=True)


@examples(60)
@given(st.sampled_from(TABLES).flatmap(lambda name: st.tuples(st.just(name), some(name))))
def test_columns_do_not_depend_on_each_other(
    log: tbq.LogDir, whole: dict[str, pa.Table], asked: tuple[str, list[str]]
) -> None:
    name, columns = asked
    values = locate(log._reader, name, on_error="ignore")
    got = pa.Table.from_batches(values.batches(columns=columns))
    assert got.select(columns) == whole[name].select(columns)
    assert got.num_columns == len(columns)


def test_columns_of_a_query_reach_the_reader(log: tbq.LogDir, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[set[str]] = []
    real = Values.batches

    def noting(values: Values, *rest: Any, **named: Any) -> Any:
        for batch in real(values, *rest, **named):
            made.append(set(batch.schema.names))
            yield batch

    monkeypatch.setattr(Values, "batches", noting)
    query = "select max(width) as w, count(*) as n from images where height = 4 and format = 'png'"
    assert log.sql(query, on_error="ignore").to_arrow().to_pylist() == [{"w": 3, "n": LARGE}]
    assert (
        log.lazy(kind="images").filter(tag="image/v1").select("height").collect()["height"].sum() == 4 * LARGE
    )
    dataset = log.dataset(kind="images")
    assert dataset.to_table(columns=["format"], filter=pc.field("tag") == "image/v1").num_rows == LARGE
    assert dataset.filter(pc.field("tag") == "image/v1").count_rows() == LARGE
    assert made
    assert all("data" not in columns for columns in made)
    assert len(log.sql("select octet_length(data) from images where tag = 'image/v1'")) == LARGE
    assert "data" in made[-1]


def test_rows_do_not_depend_on_columns(tmp_path: Path) -> None:
    """A damaged value is lost, whichever columns are selected."""
    events = [ef.version(), *(ef.image("i", step, PNG, width=3, height=4) for step in range(3))]
    data = bytearray(ef.event_file(events))
    data[-BULK // 2] ^= 1
    (tmp_path / "events.out.tfevents.1.host").write_bytes(data)
    for columns in (["step"], ["width"], ["run", "data"]):
        with pytest.warns(tbq.TbqWarning, match="checksum"):
            assert tbq.open(tmp_path).lazy(kind="images").select(columns).collect().height == 2


def test_a_file_that_changed_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(ef.event_file([ef.version(), *(ef.image("i", step, PNG) for step in range(3))]))
    values = locate(tbq.open(tmp_path)._reader, "images", on_error="ignore")
    path.write_bytes(bytes(path.stat().st_size))
    assert sum(batch.num_rows for batch in values.batches(columns=["width"])) == 0
    assert [problem.code for problem in values.reader.problems] == ["bad_payload"] * 3


@examples(60)
@given(
    st.sampled_from(sorted(EVENTS)),
    st.integers(0, 400),
    st.binary(min_size=1, max_size=6),
    st.fixed_dictionaries({name: some(name) for name in TABLES}),
)
def test_any_payload(
    tmp_path_factory: pytest.TempPathFactory, tag: str, at: int, mark: bytes, asked: Any
) -> None:
    """Wrong bytes in valid records: a column has the same contents as in a read of all columns."""
    event = EVENTS[tag](0)
    wrong = event[: len(event) // 400 * at] + mark + event[len(event) // 400 * at + len(mark) :]
    early = event[: at // 3] + mark + event[at // 3 + len(mark) :]
    root = tmp_path_factory.mktemp("any")
    (root / "events.out.tfevents.1.host").write_bytes(ef.event_file([ef.version(), event, wrong, early]))
    log = tbq.open(root)
    for name in TABLES:
        columns = [column for column in schema(name).names if column in asked[name]]
        want = made(log, name, schema(name).names).select(columns)
        got = made(log, name, columns)
        assert got.equals(want) or repr(got.to_pylist()) == repr(want.to_pylist())  # NaN is like itself


def made(log: tbq.LogDir, name: str, columns: list[str]) -> pa.Table:
    batches = locate(log._reader, name, on_error="ignore").batches(columns=columns)
    return pa.Table.from_batches(batches, pa.schema([schema(name).field(column) for column in columns]))


SCALARS = schema("scalars").names


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    """Long and short series in two runs, one of which was resumed twice, the second time inside of a file."""
    root = tmp_path_factory.mktemp("restarted")
    rng = random.Random(7)
    for run, starts in (("a", [(0,)]), ("b", [(0,), (3000, 4000)])):
        (root / run).mkdir()
        for i, sessions in enumerate(starts):
            events = []
            for begin in sessions:
                wall = ef.WALL + 1e6 * i + begin
                events.append(ef.version(wall))
                for step in range(begin, begin + 4500):
                    events.append(ef.scalar("long", step, rng.random(), wall + step / 8))
                    if step % 50 == 0:
                        events.append(ef.scalar("short", step, -float(step), wall + step / 8))
                        events.append(
                            ef.tensor_scalar("tensor", step, step / 7, dtype="float64", wall=wall + step)
                        )
            (root / run / f"events.out.tfevents.{i}.host").write_bytes(ef.event_file(events))
    return tbq.open(root)


@examples(40)
@given(
    st.lists(st.sampled_from(SCALARS), min_size=1, unique=True),
    st.sampled_from(["resume", "keep", "last", "tensorboard"]),
    st.sampled_from([None, "long", ["short", "tensor"]]),
    st.sampled_from([None, (100, 3500)]),
    st.sampled_from([1, 2]),
)
def test_columns_of_scalars(
    restarted: tbq.LogDir, columns: list[str], restarts: str, tag: Any, steps: Any, threads: int
) -> None:
    """Wall times that are not selected are not stored; sessions and restarts stay the same without them."""
    want = restarted.scalars(tag=tag, steps=steps, restarts=restarts, on_error="ignore").to_arrow()
    options = decode.DecodeOptions(
        tag=Selection.of(tag),
        steps=steps or decode.DecodeOptions().steps,
        restarts=restarts,
        threads=threads,
        columns=columns,
        split=20_000,
    )
    result = decode.decode(restarted._reader.runs, ["scalars"], options, lambda _: None)
    got = pa.table(result.scalars(restarted.runs))
    assert got.column_names == [name for name in SCALARS if name in columns]
    assert got.select(columns).combine_chunks() == want.select(columns).combine_chunks()


def test_a_query_of_scalars_names_its_columns(restarted: tbq.LogDir) -> None:
    scans: list[Scan] = []
    queries = {
        "select tag, avg(value), max(step) from scalars group by tag": ("tag", "step", "value"),
        "select count(*) from scalars where step > 3": ("run", "step"),
        "select value from scalars where run = 'a' and tag = 'long'": ("run", "tag", "value"),
        "select max(relative_time) from scalars": ("run", "wall_time"),
        "select min(ema(value, 0.5)) from scalars": ("run", "tag", "step", "value"),
        "select * from scalars": tuple(SCALARS),
    }
    for query in queries:
        sql(restarted._reader, query, on_error="ignore", on_scan=scans.append)
    for (query, wanted), scan in zip(queries.items(), scans, strict=True):
        assert set(scan.columns) <= set(wanted), query
    both = "select count(*) from (select step from scalars) a join (select value from scalars) b on a.step = b.value"
    sql(restarted._reader, both, on_error="ignore", on_scan=scans.append)
    assert len(scans) <= len(queries) + 2  # what the first question did not ask for is read once more
