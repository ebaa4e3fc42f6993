"""Whatever order and company an event's fields are in, the rows are those that protobuf's own parser sees."""

from __future__ import annotations

import struct
from itertools import product
from typing import TYPE_CHECKING, Any

import eventfile as ef
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from tables import decode_bytes

if TYPE_CHECKING:
    from pathlib import Path

FLOATS = st.floats(width=32, allow_nan=True)
STEPS = st.one_of(
    st.integers(0, 3),
    st.sampled_from([127, 128, 2**28 - 1, 2**28, 2**63 - 1, -1, -(2**63)]),
    st.integers(-5, 2**40),
)
WALLS = st.one_of(
    st.just(ef.WALL), st.sampled_from([None, 0.0, -3.5, float("nan"), float("inf")]), st.floats(1, 9)
)
# Fields that no schema knows, and known numbers of the wrong type.
UNKNOWN = st.sampled_from(
    [
        b"",
        ef.int_field(100, 5),
        ef.int_field(15, 1 << 20),
        ef.float_field(60, 2.0),
        ef.double_field(61, 2.0),
        ef.bytes_field(62, b"abc"),
        ef.group_field(63, ef.int_field(1, 3) + ef.group_field(2)),
        ef.float_field(7, 8.0),
        ef.int_field(9, 1),
        ef.int_field(1, 300),
    ]
)


@st.composite
def fields(draw: Any, *parts: bytes) -> bytes:
    """The parts in any order, with unknown fields between them."""
    mixed = (
        draw(st.permutations([*parts, draw(UNKNOWN), draw(UNKNOWN)])) if draw(st.booleans()) else list(parts)
    )
    return b"".join(mixed)


@st.composite
def number_fields(draw: Any, style: str) -> list[bytes]:
    """The value of a scalar: one float, or a tensor in some dtype and encoding."""
    number = draw(FLOATS)
    if style == "simple":
        again = [ef.float_field(2, draw(FLOATS))] if draw(st.integers(0, 9)) == 0 else []
        return [*again, ef.float_field(2, number)]
    dtype = draw(st.sampled_from(["float32", "float64", "int32", "int64", "bool", "uint8"]))
    how = draw(st.sampled_from(["content", "packed", "unpacked"]))
    held = number if dtype.startswith("float") else draw(st.integers(0, 1))
    meta = draw(st.sampled_from([b"", ef.SCALARS, ef.metadata("scalars", display_name="shown")]))
    return [ef.tensor(dtype, [held], how=how, dims=draw(st.sampled_from([None, (), (1,), (1, 1)]))), meta]


@st.composite
def events(draw: Any) -> bytes:
    styles = {"a": "simple", "b": "tensor", "loss/train": "simple", "": "simple", "é": "tensor"}
    tags = draw(
        st.lists(st.sampled_from(sorted(styles)), min_size=1, max_size=3 if draw(st.booleans()) else 1)
    )
    values = [draw(fields(ef.bytes_field(1, tag), *draw(number_fields(styles[tag])))) for tag in tags]
    held = ef.bytes_field(5, draw(fields(*[ef.bytes_field(1, each) for each in values])))
    step, wall = draw(STEPS), draw(WALLS)
    parts = [held]
    if wall is not None:
        parts.insert(0, ef.double_field(1, wall))
    if step or draw(st.booleans()):
        parts.insert(len(parts) - 1, ef.int_field(2, step))
    return draw(fields(*parts))


@pytest.mark.long
@examples(80)
@given(
    payloads=st.lists(st.one_of(events(), events(), st.just(ef.session_log(1, 3))), max_size=12).flatmap(
        # Repeats are what the reader's memory of a tag's last event acts on.
        lambda some: st.lists(st.sampled_from(some), max_size=24) if some else st.just([])
    )
)
def test_rows_are_those_that_protobuf_sees(payloads: list[bytes], folder: Path) -> None:
    payloads = [ef.version(), *payloads]
    decoded = decode_bytes(ef.event_file(payloads), folder)
    assert decoded.rows == reference.scalars({"events": payloads})
    assert decoded.files[0].records == len(payloads)
    assert not decoded.files[0].faults


# Each: two events that begin alike, but have their only number in different places.
TWINS = {
    "step behind the summary": lambda step, x: ef.event(
        ef.summary(ef.float_field(2, x) + ef.bytes_field(1, "a")),
        step=1 << 21 | step,
        order=("wall", "fields", "step"),
    ),
    "unknown float behind the tag": lambda step, x: ef.event(
        ef.summary(ef.float_field(2, 1.5) + ef.bytes_field(1, "a") + ef.float_field(7, x)), step=step
    ),
    "float of the summary behind the value": lambda step, x: ef.event(
        ef.bytes_field(
            5, ef.bytes_field(1, ef.float_field(2, 1.5) + ef.bytes_field(1, "a")) + ef.float_field(2, x)
        ),
        step=step,
    ),
    "float of the event behind the summary": lambda step, x: ef.event(
        ef.summary(ef.float_field(2, 1.5) + ef.bytes_field(1, "a")), ef.float_field(2, x), step=step
    ),
    "tensor with the step behind the summary": lambda step, x: ef.event(
        ef.summary(ef.value("a", ef.tensor("float32", [x]), ef.SCALARS)),
        step=7,
        order=("wall", "fields", "step"),
    ),
    "tensor with a second step behind the summary": lambda step, x: ef.event(
        ef.int_field(2, step),
        ef.summary(ef.value("a", ef.tensor("float32", [x]), ef.SCALARS)),
        ef.int_field(2, 9),
    ),
    "tensor with a step between two summaries": lambda step, x: ef.event(
        ef.bytes_field(5, b""),
        ef.int_field(2, 7),
        ef.summary(ef.value("a", ef.tensor("float32", [x]), ef.SCALARS)),
    ),
    "tensor with another wall time behind the summary": lambda step, x: ef.event(
        ef.summary(ef.value("a", ef.tensor("float64", [x]), ef.SCALARS)), ef.double_field(1, 5.0), step=step
    ),
    "packed and unpacked numbers in one tensor": lambda step, x: ef.event(
        ef.summary(
            ef.value(
                "a",
                ef.bytes_field(
                    8, ef.int_field(1, 1) + ef.bytes_field(5, struct.pack("<f", x)) + ef.float_field(5, 4.0)
                ),
                ef.SCALARS,
            )
        ),
        step=step,
    ),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_number_is_read_from_where_it_is(twin: str, folder: Path) -> None:
    payloads = [
        ef.version(),
        *(TWINS[twin](step, number) for step, number in enumerate([1.5, 1.5, 2.5, 2.5, 1.5])),
    ]
    if twin.startswith("packed"):
        # Two numbers for one: TensorBoard refuses them, so they are no scalar but a tensor that is malformed.
        decoded = decode_bytes(ef.event_file(payloads), folder)
        assert not decoded.rows
        assert decoded.result.tags("tensors") == ["a"]
        return
    assert decode_bytes(ef.event_file(payloads), folder).rows == reference.scalars({"events": payloads})


NUMBERS = {
    "float32": [0.1, -0.0, 3.4e38, float("inf"), float("nan")],
    "float64": [0.1, 1e300, -0.0, 2.0**-1074, float("-inf")],
    "float16": [0.5, -65504.0, 6e-8, float("inf"), float("nan")],
    "bfloat16": [0.5, -3.0e38, 1e-40, float("inf")],
    "int8": [-128, 127, 0],
    "uint8": [0, 255],
    "int16": [-(2**15), 2**15 - 1],
    "uint16": [0, 2**16 - 1],
    "int32": [-(2**31), 2**31 - 1],
    "uint32": [0, 2**32 - 1],
    "int64": [-(2**63), 2**53 + 1, 2**53],
    "uint64": [0, 2**64 - 1],
    "bool": [True, False],
}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_every_dtype_in_every_encoding(dtype: str, folder: Path) -> None:
    for how, dims in product(["content", "packed", "unpacked"], [None, (), (1,), (1, 1)]):
        payloads = [ef.version()]
        for step, number in enumerate(NUMBERS[dtype] * 2):
            payloads.append(ef.tensor_scalar("x", step, number, dtype=dtype, how=how, dims=dims))
        rows = decode_bytes(ef.event_file(payloads), folder).rows
        assert rows == reference.scalars({"events": payloads}), (how, dims)
        assert len(rows) == len(payloads) - 1


def test_metadata_may_stand_on_any_event_of_the_run(folder: Path) -> None:
    def logged(first: int, known: int) -> list[bytes]:
        return [ef.version()] + [
            ef.tensor_scalar("x", step, step, meta=ef.SCALARS if step == known else b"")
            for step in range(first, first + 4)
        ]

    for known in range(4):
        assert [row.step for row in decode_bytes(ef.event_file(logged(0, known)), folder).rows] == [
            0,
            1,
            2,
            3,
        ]
    assert (
        decode_bytes(ef.event_file(logged(0, 99)), folder).rows == []
    )  # a tensor that is not marked as a scalar


def test_an_integer_past_two_to_the_53_is_rounded_and_counted(folder: Path) -> None:
    payloads = [ef.version()]
    payloads += [
        ef.tensor_scalar("x", step, number, dtype="int64") for step, number in enumerate([2**53, 2**53 + 1])
    ]
    payloads += [ef.tensor_scalar("y", 0, 2**64 - 1, dtype="uint64", how="packed")]
    decoded = decode_bytes(ef.event_file(payloads), folder)
    assert [row.value for row in decoded.rows] == [2.0**53, 2.0**53, 2.0**64]
    assert [(tag, rounded) for _, tag, _, _, _, rounded, _ in decoded.result.notable()] == [
        ("x", 1),
        ("y", 1),
    ]
