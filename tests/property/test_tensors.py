"""Random TensorProtos, of every dtype and in every encoding, come back as the numbers that were put in."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from profiles import examples
from protos import tensor, value, write
from tensorboard.util.tensor_util import make_ndarray

import tbq
from tbq.errors import DependencyError

# TensorFlow's number, the NumPy dtype, and the list that holds its elements.
DTYPES: dict[str, tuple[int, Any, str]] = {
    "float32": (1, np.float32, "float_val"),
    "float64": (2, np.float64, "double_val"),
    "int32": (3, np.int32, "int_val"),
    "uint8": (4, np.uint8, "int_val"),
    "int16": (5, np.int16, "int_val"),
    "int8": (6, np.int8, "int_val"),
    "complex64": (8, np.complex64, "scomplex_val"),
    "int64": (9, np.int64, "int64_val"),
    "bool": (10, np.bool_, "bool_val"),
    "qint8": (11, np.int8, "int_val"),
    "quint8": (12, np.uint8, "int_val"),
    "qint32": (13, np.int32, "int_val"),
    "bfloat16": (14, ml_dtypes.bfloat16, "half_val"),
    "qint16": (15, np.int16, "int_val"),
    "quint16": (16, np.uint16, "int_val"),
    "uint16": (17, np.uint16, "int_val"),
    "complex128": (18, np.complex128, "dcomplex_val"),
    "float16": (19, np.float16, "half_val"),
    "uint32": (22, np.uint32, "uint32_val"),
    "uint64": (23, np.uint64, "uint64_val"),
    "float8_e5m2": (24, ml_dtypes.float8_e5m2, "float8_val"),
    "float8_e4m3fn": (25, ml_dtypes.float8_e4m3fn, "float8_val"),
    "float8_e4m3fnuz": (26, ml_dtypes.float8_e4m3fnuz, "float8_val"),
    "float8_e4m3b11fnuz": (27, ml_dtypes.float8_e4m3b11fnuz, "float8_val"),
    "float8_e5m2fnuz": (28, ml_dtypes.float8_e5m2fnuz, "float8_val"),
    "int4": (29, ml_dtypes.int4, "int_val"),
    "uint4": (30, ml_dtypes.uint4, "int_val"),
    "int2": (31, ml_dtypes.int2, "int_val"),
    "uint2": (32, ml_dtypes.uint2, "int_val"),
}
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def elements(array: np.ndarray[Any, Any], field: str) -> dict[str, Any]:
    flat = array.ravel()
    if field == "half_val":
        return {field: flat.view(np.uint16).tolist()}
    if field in ("scomplex_val", "dcomplex_val"):
        return {field: [part for each in flat.tolist() for part in (each.real, each.imag)]}
    if field == "float8_val":
        return {field: flat.tobytes()}
    return {field: [each.item() if hasattr(each, "item") else int(each) for each in flat]}


def read(proto: Any) -> np.ndarray[Any, Any]:
    with tempfile.TemporaryDirectory() as folder:
        log = tbq.open(write(Path(folder), value("x", "tensor", tensor=proto)))
        return log.tensor("x", on_error="raise")


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Equal to the bit, any NaN like any other."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "fc" or a.dtype.name.startswith(("bfloat", "float")):
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            return bool(np.array_equal(a.astype(wide), b.astype(wide), equal_nan=True))
    return bool(np.array_equal(a, b))


def random_array(data: st.DataObject, dtype: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    if kind == np.bool_:
        return np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool).reshape(
            shape
        )
    if kind.name in ("int4", "uint4", "int2", "uint2"):
        low, high = int(ml_dtypes.iinfo(dtype).min), int(ml_dtypes.iinfo(dtype).max)
        numbers = data.draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
        return np.array(numbers, np.int8).astype(dtype).reshape(shape)
    raw = data.draw(st.binary(min_size=count * kind.itemsize, max_size=count * kind.itemsize))
    return np.frombuffer(raw, kind).reshape(shape)


@examples(8)
@given(data=st.data())
@pytest.mark.parametrize("name", DTYPES)
def test_lists_and_content(name: str, data: st.DataObject) -> None:
    number, dtype, field = DTYPES[name]
    array = random_array(data, dtype, data.draw(shapes))
    by_list = read(tensor(number, array.shape, **elements(array, field)))
    assert same(by_list, array)
    by_content = read(tensor(number, array.shape, tensor_content=array.tobytes()))
    assert same(by_content, array)


@examples(40)
@given(
    data=st.data(),
    name=st.sampled_from(["float32", "float64", "int32", "int64", "bool", "complex64", "uint8"]),
)
def test_as_tensorboard_decodes_it(name: str, data: st.DataObject) -> None:
    number, dtype, field = DTYPES[name]
    array = random_array(data, dtype, data.draw(shapes))
    proto = tensor(number, array.shape, **elements(array, field))
    assert same(read(proto), make_ndarray(proto))


@examples(30)
@given(data=st.data(), name=st.sampled_from(sorted(set(DTYPES) - {"float8_e5m2", "complex64", "complex128"})))
def test_a_short_list_repeats_its_last_element(name: str, data: st.DataObject) -> None:
    number, dtype, field = DTYPES[name]
    array = random_array(data, dtype, (data.draw(st.integers(0, 3)),))
    got = read(tensor(number, (3, 2), **elements(array, field)))
    flat = got.ravel()
    expected = np.zeros(6, dtype)
    if len(array):
        expected[: len(array)] = array
        expected[len(array) :] = array[-1]
    assert same(flat, expected)


@examples(30)
@given(texts=st.lists(st.binary(max_size=20), max_size=6))
def test_strings(texts: list[bytes]) -> None:
    got = read(tensor(7, (len(texts),), string_val=texts))
    assert got.dtype == object
    assert got.tolist() == texts


@examples(30)
@given(data=hnp.arrays(np.float32, hnp.array_shapes(max_dims=2), elements=st.floats(width=16)))
def test_float32_bits_in_half_val_as_torch_writes_them(data: Any) -> None:
    bits = data.astype(np.float32).view(np.int32).ravel().tolist()
    assert same(read(tensor(19, data.shape, half_val=bits)), data.astype(np.float16))
    cut = data.astype(ml_dtypes.bfloat16)
    bits = cut.astype(np.float32).view(np.int32).ravel().tolist()
    assert same(read(tensor(14, data.shape, half_val=bits)), cut)


@examples(60)
@given(garbage=st.binary(max_size=200))
def test_garbage_in_place_of_a_tensor_is_a_row_with_its_bytes(garbage: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        raw = (
            value("x", "tensor").SerializeToString()
            + b"\x42"
            + bytes([len(garbage) & 0x7F | 0x80, len(garbage) >> 7])
        )
        log = tbq.open(write(Path(folder), raw + garbage))
        table = log.tensors(on_error="ignore").to_arrow()
        assert len(table) == 1
        if table["shape"][0].as_py() is None:
            assert table["data"][0].as_py() == garbage
            assert any(problem.code == "bad_tensor" for problem in log.problems)


def test_without_ml_dtypes_bfloat16_is_float32_and_float8_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    from tbq import arrays
    from tbq.kinds import tensors

    every = np.arange(65536, dtype=np.uint16)
    expected = every.view(DTYPES["bfloat16"][1]).astype(np.float32)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    arrays._values.cache_clear()
    with pytest.warns(tbq.TbqWarning, match="float32"):
        got = tensors.array("bfloat16", [len(every)], every.tobytes())
    assert got.dtype == np.float32 and np.array_equal(got, expected, equal_nan=True)
    for name, (_, _, field) in DTYPES.items():
        if field == "float8_val":
            with pytest.raises(DependencyError, match=r"\[weights\]"):
                tensors.array(name, [1], b"\0")
