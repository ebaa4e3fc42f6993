"""Any log, damaged anywhere, then repaired: TensorBoard reads it to its end, and every undamaged record is there."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import protolog as pl
import pyarrow as pa
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from profiles import examples
from tensorboard.compat.proto import event_pb2, summary_pb2

import tbq
from tbq.errors import SelectionError, SourceError

if TYPE_CHECKING:
    from pathlib import Path

writes = examples(60, HealthCheck.function_scoped_fixture)
_fresh = itertools.count()


def stub_read(path: Path) -> list[bytes]:
    """The records that TensorBoard's own loader reads; it must come to the end without an error."""
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New

    reader = PyRecordReader_New(str(path))
    found = []
    while True:
        try:
            reader.GetNext()
        except Exception as stop:
            assert type(stop).__name__ == "OutOfRangeError", stop
            return found
        found.append(reader.record())


@st.composite
def logs(draw: Any) -> list[bytes]:
    """Records of one file: scalars alone and together, tensors with and without metadata, images, unknown fields."""
    records = [pl.header()]
    for step in range(draw(st.integers(1, 15))):
        kind = draw(st.sampled_from(["scalar", "scalar", "many", "tensor", "image", "unknown", "start"]))
        tag = draw(st.sampled_from(["loss", "acc", "a/b"]))
        wall = pl.T0 + 1 + step
        if kind == "scalar":
            records.append(
                pl.scalar(tag, draw(st.integers(-3, 300)), draw(st.floats(width=32, allow_nan=False)), wall)
            )
        elif kind == "many":
            values = [
                summary_pb2.Summary.Value(tag=each, simple_value=step) for each in ("loss", "acc", "lr")
            ]
            records.append(pl.event(step, wall, *values))
        elif kind == "tensor":
            plugin = draw(st.sampled_from(["scalars", None]))
            records.append(pl.event(step, wall, pl.tensor_value("t", pl.number(step), plugin)))
        elif kind == "image":
            records.append(pl.image("sample", step, bytes(draw(st.sampled_from([10, 4100, 9000]))), wall))
        elif kind == "start":
            records.append(pl.session_start(step, wall))
        else:
            event = event_pb2.Event(wall_time=wall, step=step).SerializeToString()
            records.append(pl.record(event + b"\xfa\x3e\x05hello"))
    return records


damages = st.lists(
    st.tuples(
        st.sampled_from(["flip", "zeros", "cut", "insert"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 40),
        st.integers(1, 255),
    ),
    min_size=1,
    max_size=3,
)


def apply(
    data: bytes, records: list[bytes], damage: list[tuple[str, float, int, int]]
) -> tuple[bytes, set[int]]:
    """The damaged file, and the records that were hit. Damage is applied from the end, so that offsets stay valid."""
    ends = list(accumulate(map(len, records)))
    starts = [0, *ends[:-1]]
    hit: set[int] = set()
    out = bytearray(data)
    last = len(data)
    for what, share, length, bits in sorted(damage, key=lambda each: -each[1]):
        at = int(share * len(data))
        end = min(at + (1 if what == "flip" else length), len(data))
        if end > last:  # places that overlap would move each other
            continue
        last = at
        if what == "insert":
            out[at:at] = bytes([bits]) * length
            hit |= {i for i in range(len(records)) if starts[i] < at < ends[i]}
            continue
        hit |= {i for i in range(len(records)) if starts[i] < end and at < ends[i]}
        if what == "flip":
            out[at] ^= bits
        elif what == "zeros":
            out[at:end] = bytes(end - at)
        else:
            del out[at:end]
    return bytes(out), hit


@given(records=logs(), damage=damages)
@writes
def test_repair_saves_every_undamaged_record(folder: Path, records: list[bytes], damage: Any) -> None:
    root = folder / str(next(_fresh))
    data, hit = apply(b"".join(records), records, damage)
    source = pl.write(root / "runs", data)
    want = [record[12:-4] for place, record in enumerate(records) if place not in hit]
    try:
        report = tbq.rewrite(root / "runs", root / "new", repair=True)
    except SourceError as nothing:
        assert want == [] and "no file contains a record" in str(nothing)
        assert source.read_bytes() == data and not (root / "new").exists()
        return
    assert source.read_bytes() == data
    (file,) = (root / "new").iterdir()
    read = stub_read(file)
    # A hit record may still be intact (zeros over zeros); there must be nothing else, and nothing may be missing.
    left = iter(read)
    assert all(any(payload == other for other in left) for payload in want), (len(want), len(read))
    added = [payload for payload in read if payload not in {record[12:-4] for record in records}]
    if (
        added
    ):  # a session whose file_version was lost gets another, so that it does not join the one before it
        assert hit & {0} and added == [read[0]] and event_pb2.Event.FromString(read[0]).file_version
    for payload in read:
        event_pb2.Event.FromString(payload)
    assert report.records_out == len(read)
    for finding in tbq.doctor(root / "runs"):
        assert finding.message and source.read_bytes() == data
    # And a second look finds nothing to repair.
    assert tbq.doctor(root / "new", select="TBQ2") == []
    assert tbq.rewrite(root / "new", root / "again").records_out == len(read)
    shutil.rmtree(root)


@given(
    records=logs(),
    drop=st.sampled_from([None, "loss", ["acc", "t"], "re:.*s.*"]),
    steps=st.sampled_from([None, "3:9", ":5"]),
    every=st.sampled_from([1, 2, 3]),
    most=st.sampled_from([None, 1, 4]),
    offset=st.sampled_from([0, -2, 1000]),
    rename=st.sampled_from([None, {"re:(.*)": r"new/\1"}]),
)
@writes
def test_edits_change_what_they_say_and_nothing_else(
    folder: Path, records: list[bytes], drop: Any, steps: Any, every: int, most: Any, offset: int, rename: Any
) -> None:
    """Against a plain model of the same options on parsed events."""
    import re
    import warnings

    root = folder / str(next(_fresh))
    assume(
        rename is None
        or any(kind in record for record in records for kind in (b"loss", b"acc", b"a/b", b"sample"))
    )
    pl.write(root / "runs", *records)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(SelectionError):  # nothing is left
            tbq.rewrite(
                root / "runs", root / "new", drop_tag=drop, steps=steps, every=every, max_points=most,
                offset_steps=offset, rename=rename,
            )  # fmt: skip
    low, high = (int(end) if end else None for end in steps.split(":")) if steps else (None, None)
    dropped = {
        None: lambda tag: False,
        "loss": lambda tag: tag == "loss",
        "re:.*s.*": lambda tag: bool(re.fullmatch(".*s.*", tag)),
    }
    drops = dropped[drop] if not isinstance(drop, list) else drop.__contains__
    seen: dict[str, int] = {}
    want: list[tuple[int, float, str]] = []
    for record in records:
        event = event_pb2.Event.FromString(record[12:-4])
        for value in event.summary.value:
            if (
                drops(value.tag)
                or (low is not None and event.step < low)
                or (high is not None and event.step > high)
            ):
                continue
            place = seen.get(value.tag, 0)
            seen[value.tag] = place + 1
            if place % every == 0:
                tag = value.tag if rename is None else f"new/{value.tag}"
                want.append((event.step + offset, event.wall_time, tag))
    files = list((root / "new").iterdir()) if (root / "new").exists() else []
    made = [event_pb2.Event.FromString(payload) for payload in (stub_read(files[0]) if files else [])]
    got = [(event.step, event.wall_time, value.tag) for event in made for value in event.summary.value]
    if most is None:
        assert got == want
    else:
        left = iter(want)
        assert all(any(point == other for other in left) for point in got)
        for tag in {tag for _, _, tag in want}:
            ours = [point for point in want if point[2] == tag]
            assert 1 <= sum(point[2] == tag for point in got) <= most and ours[-1] in got
    unknown = [record for record in records if b"\xfa\x3e\x05hello" in record]
    assert [
        record for record in (pl.split(files[0].read_bytes()) if files else []) if record in unknown
    ] == unknown
    shutil.rmtree(root)


def times_of(root: Path) -> list[tuple[float, float]]:
    """When each session began and ended, in order."""
    from tbq.decode import DecodeOptions, decode
    from tbq.source.discover import discover

    result = decode(
        discover(root).runs, [], DecodeOptions(restarts="keep"), lambda _: None, session_tables=True
    )
    sessions = pa.table(result.sessions()).to_pylist()
    return [(each["begin"], each["end"]) for each in sessions if each["timed"]]


@given(
    sessions=st.lists(
        st.tuples(
            st.sampled_from([True, True, False]),  # whether it has a file_version
            st.sampled_from([0.0, 3.0, 40.0]),  # after the one before
            st.lists(st.sampled_from(["loss", "acc", "large"]), max_size=8),
        ),
        min_size=1,
        max_size=4,
    ),
    edit=st.sampled_from(
        [
            {"steps": ":2"}, {"steps": "3:5"}, {"every": 3}, {"max_points": 1}, {"drop_tag": "loss"},
            {"keep_tag": "loss"}, {"drop_kind": "images"}, {"steps": "1:3", "drop_tag": "acc"},
        ]
    ),
)  # fmt: skip
@writes
def test_what_is_dropped_does_not_move_sessions(
    folder: Path, sessions: list[tuple[bool, float, list[str]]], edit: dict[str, Any]
) -> None:
    """The start and end of each session tell whether they ran in sequence or in parallel."""
    import warnings

    root = folder / str(next(_fresh))
    start = pl.T0
    for number, (headed, later, tags) in enumerate(sessions):
        start += later
        records = [pl.header(start)] if headed else []
        for step, tag in enumerate(tags):
            wall = start + 1 + step
            large = pl.image(tag, step, bytes(9000), wall) if tag == "large" else None
            records.append(large or pl.scalar(tag, step, 0.5, wall))
        pl.write(root / "runs", *records, file=pl.name(start, pid=number))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            report = tbq.rewrite(root / "runs", root / "new", **edit)
        except (SelectionError, SourceError):  # nothing is left
            return
    before, after = times_of(root / "runs"), times_of(root / "new")
    if len(before) > 1:
        assert after == before
    (file,) = (root / "new").iterdir()
    assert report.records_out == len(stub_read(file))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = tbq.rewrite(root / "new", root / "again", **{**edit, "every": 1})
    assert again.records_out == report.records_out
    shutil.rmtree(root)


@given(data=st.one_of(st.binary(max_size=300), st.binary(max_size=60).map(lambda some: pl.header() + some)))
@writes
def test_the_doctor_never_fails_on_a_file(folder: Path, data: bytes) -> None:
    root = folder / str(next(_fresh))
    source = pl.write(root / "runs", data)
    for finding in tbq.doctor(root):
        assert finding.message and finding.hint
    assert source.read_bytes() == data
    shutil.rmtree(root)
