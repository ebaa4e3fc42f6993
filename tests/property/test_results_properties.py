"""Properties of weights: any shape, type and block size gives the same as NumPy."""

import csv
import io
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tbq.results import weight_elements, weights_diff
from tbq.results.checkpoint import parameters
from tbq.results.elements import lines
from tbq.results.statistics import statistics

TYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64"]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=12)
ARRAYS = st.sampled_from(TYPES).flatmap(lambda name: hnp.arrays(name, SHAPES))
MODELS = st.dictionaries(st.text('ab./,"\n é', min_size=1, max_size=6), ARRAYS, min_size=1, max_size=4)


@given(hnp.arrays("float64", st.integers(0, 300)), st.integers(1, 50))
def test_statistics_do_not_depend_on_blocks(values, size):
    found = statistics(values[n : n + size] for n in range(0, len(values), size)).row()
    finite = values[np.isfinite(values)]
    assert found["nonfinite"] == len(values) - len(finite)
    assert found["zeros"] == np.count_nonzero(finite == 0)
    if len(finite):
        assert (found["min"], found["max"]) == (finite.min(), finite.max())
        scale = float(np.abs(finite).max())
        if scale < 1e150:
            assert abs(found["mean"] - finite.mean()) <= 1e-12 * scale + 1e-300
            tiny = 1e-155  # below this, squares have few digits left, in NumPy too
            assert abs(found["std"] - finite.std()) <= 1e-7 * scale + tiny
            np.testing.assert_allclose(found["norm"], np.sqrt((finite**2).sum()), rtol=1e-9, atol=tiny)
    else:
        assert found["mean"] is None


@given(ARRAYS, st.sampled_from(",\t"))
def test_csv_lines_read_back_bit_for_bit(array, separator):
    with parameters({"layer.w": array}) as found:
        text = b"".join(bytes(block) for block in lines(found, separator)).decode()
    got = list(csv.reader(io.StringIO(text), delimiter=separator))
    assert [row[2] for row in got] == list(map(str, range(array.size)))
    cells = [row[3] for row in got]
    if array.dtype.kind in "biu":
        assert [int(cell) for cell in cells] == [int(value) for value in array.ravel()]
    else:
        back = np.array([float(cell) for cell in cells], np.float64).astype(array.dtype)
        np.testing.assert_array_equal(back, array.ravel())


EDGES = [0.0, -0.0, 1.0, 0.1, 1e-4, 9.999999e-05, 8191.9995, 8192.0, 1e-45, 1.1754944e-38, 3.4028235e38]


@given(st.lists(st.floats(width=32) | st.sampled_from(EDGES) | st.floats(-2, 2, width=32), min_size=1))
def test_float32_cells_are_the_shortest_python_has(numbers):
    values = np.array(numbers, np.float32)
    with parameters({"layer.w": values}) as found:
        text = b"".join(bytes(block) for block in lines(found)).decode()
    for value, line in zip(values, text.splitlines(), strict=True):
        cell = line.rsplit(",", 1)[1]
        if float(value).is_integer() and abs(value) < 1e16:
            assert cell == f"{'-' if np.signbit(value) else ''}{abs(int(value))}.0"  # whole: all digits
        else:
            assert cell == repr(float(str(value)))


def test_float32_cells_at_every_exponent():
    bits = np.arange(256, dtype=np.uint32)[:, None] << 23 | np.array([0, 1, 2, 0x400000, 0x7FFFFF], np.uint32)
    values = np.concatenate([bits.ravel(), bits.ravel() | np.uint32(1 << 31)]).view(np.float32)
    with parameters({"w": values}) as found:
        text = b"".join(bytes(block) for block in lines(found)).decode()
    cells = [line.rsplit(",", 1)[1] for line in text.splitlines()]
    back = np.array([float(cell) for cell in cells]).astype(np.float32)
    finite = np.isfinite(values)
    np.testing.assert_array_equal(back[finite].view(np.uint32), values[finite].view(np.uint32))
    assert [c for c, ok in zip(cells, finite, strict=True) if not ok] == [str(v) for v in values[~finite]]


@pytest.mark.long
@given(MODELS)
def test_parquet_of_elements_is_what_the_rows_are(model):
    numbers = {
        name: array.astype(np.float32) if array.dtype.kind in "iu" else array for name, array in model.items()
    }
    rows = weight_elements(numbers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "w.parquet")
        rows.write(path)
        with pq.ParquetFile(path) as file:
            got = file.read()
    want = rows.to_arrow()
    for name in ("layer", "parameter", "index"):
        assert got[name].to_pylist() == want[name].to_pylist()
    np.testing.assert_array_equal(got["value"].to_numpy(), want["value"].to_numpy())


@given(MODELS)
def test_safetensors_are_read_as_the_library_reads_them(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.safetensors")
        safetensors.numpy.save_file(
            {name: np.ascontiguousarray(array) for name, array in model.items()}, path
        )
        want = safetensors.numpy.load_file(path)
        with parameters(path) as found:
            assert sorted(p.name for p in found) == sorted(want)
            for parameter in found:
                array = want[parameter.name]
                assert parameter.shape == array.shape and parameter.dtype == array.dtype.name
                flat = [*parameter.blocks(5)]
                got = np.concatenate(flat) if flat else np.empty(0, array.dtype)
                np.testing.assert_array_equal(got, array.ravel())


@given(MODELS)
def test_a_model_does_not_differ_from_itself(model):
    assert set(weights_diff(model, model).to_arrow()["status"].to_pylist()) == {"same"}
