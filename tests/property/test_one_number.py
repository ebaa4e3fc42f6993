"""A tensor of one number is the same number as a scalar and as a tensor, however oddly it is written."""

from __future__ import annotations

import struct
import warnings
from typing import TYPE_CHECKING, Any

import eventfile as ef
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.util.tensor_util import make_ndarray

import tbq

if TYPE_CHECKING:
    from pathlib import Path

DTYPES = [1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 22, 23]
LISTS = [5, 6, 7, 10, 11, 13, 16, 17]
NUMBERS = st.one_of(
    st.integers(-3, 3), st.sampled_from([300, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, -(2**63), 0x3F800000])
)


@st.composite
def a_list(draw: Any, number: int) -> bytes:
    """A field of a typed list: packed or not, with one element, several or a piece of one."""
    if number in (5, 6):
        code = "f" if number == 5 else "d"
        how = draw(st.sampled_from(["packed", "packed", "plain", "piece", "two"]))
        one = struct.pack(f"<{code}", float(draw(st.integers(-5, 5))) / 4)
        if how == "plain":
            return ef.float_field(5, 1.25) if number == 5 else ef.double_field(6, 1.25)
        return ef.bytes_field(number, {"packed": one, "piece": one + b"\x01", "two": one * 2}[how])
    how = draw(st.sampled_from(["packed", "plain", "plain", "five bytes", "empty"]))
    if how == "empty":
        return ef.bytes_field(number, b"")
    if how == "five bytes":  # -1 as some encoders write an int32
        return ef.varint(number << 3) + b"\xff\xff\xff\xff\x0f"
    held = ef.varint(draw(NUMBERS))
    return ef.bytes_field(number, held) if how == "packed" else ef.varint(number << 3) + held


@st.composite
def tensors(draw: Any) -> bytes:
    """The fields of a TensorProto that claims one element."""
    fields = [ef.int_field(1, draw(st.sampled_from(DTYPES)) + draw(st.sampled_from([0, 0, 0, 100])))]
    if draw(st.booleans()):
        fields.append(ef.shape(*[1] * draw(st.integers(0, 3))))
    fields += [draw(a_list(number)) for number in draw(st.lists(st.sampled_from(LISTS), max_size=2))]
    if draw(st.integers(0, 3)) == 0:
        fields.append(ef.bytes_field(4, draw(st.binary(min_size=1, max_size=9))))
    return b"".join(fields)


def by_tensorboard(proto: bytes) -> float | None:
    """The number that TensorBoard decodes; None if it cannot."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            array = make_ndarray(TensorProto.FromString(proto))
    except Exception:  # TensorBoard's decoder lets every kind of exception through
        return None
    return float(array.item()) if array.size == 1 and array.dtype.kind in "fiub" else None


def same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


@pytest.mark.long
@examples(300)
@given(protos=st.lists(tensors(), min_size=1, max_size=12))
def test_a_scalar_is_the_number_of_its_tensor(protos: list[bytes], folder: Path) -> None:
    events = [ef.version()]
    for step, proto in enumerate(protos):
        for tag, meta in (("scalar", ef.SCALARS), ("tensor", ef.metadata("tensor"))):
            held = ef.value(tag, ef.bytes_field(8, proto), meta)
            events.append(ef.event(ef.summary(held), step=step))
    (folder / "events.out.tfevents.1").write_bytes(ef.event_file(events))
    log = tbq.open(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tbq.TbqWarning)
        scalars = {row.step: row.value for row in log.scalars().to_arrow().to_pandas().itertuples()}
        table = log.tensors(tag="tensor")
        arrays = dict(zip(table.to_arrow()["step"].to_pylist(), table.arrays(), strict=True))
    for step, proto in enumerate(protos):
        array = arrays[step]
        if array is None:
            assert step not in scalars
        else:
            assert same(scalars[step], float(array.astype(np.float64).item())), proto
        want = by_tensorboard(proto)
        if want is not None:
            assert same(scalars[step], want), proto
