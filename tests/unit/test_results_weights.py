"""Weights: names, types, statistics, elements, layers and differences, from dicts and every file format."""

import csv
import math
import zipfile

import h5py
import numpy as np
import pytest
import safetensors.numpy

import tbq
from tbq.arrays import widen
from tbq.errors import SelectionError, SourceError, TbqWarning, UsageError
from tbq.results import weight_elements, weights, weights_diff
from tbq.results.checkpoint import parameters
from tbq.results.checkpoint.parameter import slabs, split_name

MODEL = {
    "encoder.0.weight": np.arange(6, dtype=np.float32).reshape(2, 3) / 10,
    "encoder.0.bias": np.array([0.1, np.nan], np.float32),
    "head.weight": np.array([[[1.5]], [[-2.0]]]),
    "head.steps": np.array(7, np.int64),
}


def rows(table):
    return table.to_arrow().to_pylist()


def write_keras(path, model):
    """The layout of Keras 3, as `model.save("x.keras")` writes it."""
    inner = path.with_name("inner.weights.h5")
    with h5py.File(inner, "w") as file:
        for key, (name, arrays) in model.items():
            group = file.create_group(f"{key}/vars")
            group.attrs["name"] = name
            for number, array in enumerate(arrays):
                group[str(number)] = array
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
        archive.write(inner, "model.weights.h5")
    return inner


def files(folder):
    safetensors.numpy.save_file(MODEL, folder / "m.safetensors")
    np.savez(folder / "m.npz", **MODEL)
    np.savez_compressed(folder / "c.npz", **MODEL)
    with h5py.File(folder / "m.h5", "w") as file:
        for name, array in MODEL.items():
            file[name.replace(".", "/")] = array
    return ["m.safetensors", "m.npz", "c.npz", "m.h5"]


def test_names_are_split_at_the_last_dot_or_slash():
    assert split_name("a.b/c") == ("a.b", "c")
    assert split_name("a/b.c") == ("a/b", "c")
    assert split_name("lone") == ("", "lone")
    assert split_name("trailing.") == ("trailing", "")


def test_every_format_gives_the_same_elements_and_statistics(tmp_path):
    want = {(r["layer"], r["parameter"], r["index"]): r["value"] for r in rows(weight_elements(MODEL))}
    assert want["encoder.0", "weight", 5] == pytest.approx(0.5)
    assert want["head", "steps", 0] == 7 and want["head", "weight", 1] == -2
    stats = {(r["layer"], r["parameter"]): r for r in rows(weights(MODEL))}
    for name in files(tmp_path):
        slash = "/" if name == "m.h5" else "."
        got = {
            (r["layer"].replace(slash, "."), r["parameter"], r["index"]): r["value"]
            for r in rows(weight_elements(tmp_path / name))
        }
        assert got.keys() == want.keys(), name
        np.testing.assert_equal([got[key] for key in want], list(want.values()))
        for row in rows(weights(str(tmp_path / name))):
            row["layer"] = row["layer"].replace(slash, ".")
            np.testing.assert_equal(row, stats[row["layer"], row["parameter"]])


def test_statistics_are_over_the_finite_elements():
    (row,) = rows(weights({"a.b": np.array([[3.0, -4.0, 0.0], [np.nan, np.inf, -np.inf]])}))
    finite = np.array([3.0, -4.0, 0.0])
    assert row["shape"] == [2, 3] and row["dtype"] == "float64" and row["count"] == 6
    assert row["mean"] == pytest.approx(finite.mean()) and row["std"] == pytest.approx(finite.std())
    assert (row["min"], row["max"], row["norm"], row["zeros"], row["nonfinite"]) == (-4, 3, 5, 1, 3)


def test_nothing_finite_has_no_mean_and_an_empty_parameter_no_row_of_elements():
    nan, empty = rows(weights({"a.b": np.array([np.nan]), "a.c": np.zeros((3, 0))}))
    assert nan["mean"] is None and nan["min"] is None and nan["nonfinite"] == 1
    assert empty["count"] == 0 and empty["mean"] is None and empty["shape"] == [3, 0]
    assert rows(weight_elements({"a.c": np.zeros((3, 0))})) == []


def test_huge_values_do_not_overflow_the_mean():
    (row,) = rows(weights({"a.b": np.full(4, 1.5e308)}))
    assert row["mean"] == pytest.approx(1.5e308) and row["max"] == 1.5e308 and row["nonfinite"] == 0


@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
)
def test_every_code_of_a_small_float_widens_as_ml_dtypes_has_it(name):
    import ml_dtypes

    codes = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(widen(codes, name), codes.view(getattr(ml_dtypes, name)).astype(np.float32))


def test_every_bfloat16_widens_as_ml_dtypes_has_it():
    import ml_dtypes

    codes = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(
            widen(codes, "bfloat16"), codes.view(ml_dtypes.bfloat16).astype(np.float32)
        )


def test_bfloat16_and_bool_in_safetensors(tmp_path):
    import ml_dtypes

    model = {"a.w": np.array([0.1, -2, np.inf], ml_dtypes.bfloat16), "a.mask": np.array([True, False, True])}
    safetensors.numpy.save_file(model, tmp_path / "m.safetensors")
    got = {
        (r["parameter"], r["index"]): r["value"] for r in rows(weight_elements(tmp_path / "m.safetensors"))
    }
    assert [got["w", i] for i in range(3)] == [float(x) for x in model["a.w"]]
    assert [got["mask", i] for i in range(3)] == [1, 0, 1]
    assert {r["parameter"]: r["dtype"] for r in rows(weights(model))} == {"w": "bfloat16", "mask": "bool"}


def test_csv_of_elements_is_read_back_as_they_were(tmp_path):
    weight_elements(MODEL).write(tmp_path / "w.csv")
    with open(tmp_path / "w.csv", newline="") as file:
        got = list(csv.reader(file))
    assert got[0] == ["layer", "parameter", "index", "value"]
    assert got[2] == ["encoder.0", "weight", "1", "0.1"]  # as float32 prints
    assert got[8] == ["encoder.0", "bias", "1", "nan"]
    assert got[-1] == ["head", "steps", "0", "7"]
    weight_elements(MODEL).write(tmp_path / "w.tsv")
    assert (tmp_path / "w.tsv").read_text().splitlines()[2] == "encoder.0\tweight\t1\t0.1"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "json", "parquet", "arrow", "sqlite"])
def test_every_format_holds_every_element(tmp_path, ending):
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / f"w.{ending}"
    weight_elements({"a,b.w": MODEL["encoder.0.weight"]}).write(path)
    if ending == "parquet":
        got = pq.ParquetFile(path).read().to_pylist()
    elif ending == "arrow":
        with pa.memory_map(str(path)) as source:
            got = pa.ipc.open_file(source).read_all().to_pylist()
    elif ending == "sqlite":
        import contextlib
        import sqlite3

        with contextlib.closing(sqlite3.connect(path)) as base:
            found = base.execute('select layer, parameter, "index", value from elements').fetchall()
        got = [dict(zip(("layer", "parameter", "index", "value"), row, strict=True)) for row in found]
    else:
        reader = "read_json" if "json" in ending else "read_csv"
        found = duckdb.sql(
            f"select layer, parameter, \"index\", value from {reader}('{path.as_posix()}')"
        ).fetchall()
        got = [dict(zip(("layer", "parameter", "index", "value"), row, strict=True)) for row in found]
    assert [r["index"] for r in got] == list(range(6))
    assert {r["layer"] for r in got} == {"a,b"}
    np.testing.assert_array_equal(np.float32([r["value"] for r in got]), MODEL["encoder.0.weight"].ravel())


PARQUET_MODELS = {
    "no elements": {"a.w": np.zeros((0, 3))},
    "no elements of one": {"a.w": np.zeros((2, 0, 3)), "b.w": np.ones(3)},
    "rank 0": {"s": np.ones(()), "t.u": np.array(2)},
    "types": {
        f"l.{name}": np.arange(-3, 5).astype(name)
        for name in [
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "float16",
            "float32",
            "float64",
        ]
    },
    "not finite": {"x": np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])},
    "many axes": {"r.w": np.arange(64.0).reshape((2,) + (1,) * 14 + (2,) + (1,) * 13 + (16,))},
    "many names": {f"layer{n}.p{n % 7}": np.full(n % 3, n, np.float32) for n in range(3000)},
    "several pages": {"a.w": np.arange(1 << 17), "b.w": np.arange((1 << 17) + 1), "c.w": np.ones((3, 9))},
    "odd names": {'é/"x",\n.w': np.ones(2), ".": np.ones(1)},
}


@pytest.mark.long
@pytest.mark.parametrize("model", PARQUET_MODELS.values(), ids=PARQUET_MODELS)
def test_parquet_of_elements_is_the_same_to_every_reader(tmp_path, model):
    import duckdb
    import polars as pl
    import pyarrow.parquet as pq

    path = tmp_path / "w.parquet"
    weight_elements(model).write(path)
    want = [
        (*split_name(name), index, float(value))
        for name, array in model.items()
        for index, value in enumerate(array.flat)
    ]
    with pq.ParquetFile(path) as file:
        assert file.metadata.num_rows == len(want)
        found = [
            list(zip(*(column.to_pylist() for column in file.read().columns), strict=True)),
            pl.read_parquet(path).rows(),
        ]
    with duckdb.connect() as connection:
        found.append(connection.execute("select * from read_parquet(?)", [str(path)]).fetchall())
    for rows_found in found:
        assert repr(rows_found) == repr(want)  # as text, since NaN equals nothing


def test_rows_are_arrow_streams_and_frames():
    import pyarrow as pa

    found = weight_elements(MODEL)
    assert pa.table(found).num_rows == 11 == len(found.to_pandas()) == found.to_polars().height
    assert found.to_table().kind == "elements"


def test_layers_are_chosen_by_name_glob_and_list():
    assert {r["layer"] for r in rows(weights(MODEL, layer="enc*"))} == {"encoder.0"}
    assert [r["parameter"] for r in rows(weights(MODEL, layer=["head"]))] == ["weight", "steps"]
    assert len(weight_elements(MODEL, layer="head").to_arrow()) == 3
    with pytest.raises(SelectionError, match=r"no layer matches 'encoder\.1'; closest: encoder\.0"):
        weight_elements(MODEL, layer="encoder.1")


def test_complex_has_a_norm_and_no_elements():
    model = {"a.z": np.array([3 + 4j, 0])}
    (row,) = rows(weights(model))
    assert (row["norm"], row["mean"], row["zeros"]) == (5, None, 1)
    with pytest.raises(SourceError, match="complex"):
        weight_elements(model).to_arrow()


def test_text_in_an_archive_has_no_statistics_and_says_so(tmp_path):
    np.savez(tmp_path / "m.npz", names=np.array(["a", "b"]), w=np.ones(2))
    with pytest.warns(TbqWarning, match="no statistics for 'names'"):
        got = rows(weights(tmp_path / "m.npz"))
    assert [(r["parameter"], r["count"], r["mean"]) for r in got] == [("names", 2, None), ("w", 2, 1.0)]
    with pytest.raises(SourceError, match="'names' cannot be read"):
        weight_elements(tmp_path / "m.npz").write(tmp_path / "w.csv")
    assert not (tmp_path / "w.csv").exists()


def test_integers_past_2_53_are_exact_in_csv_and_warned_of_in_tables(tmp_path):
    model = {"a.n": np.array([2**53 + 1, -(2**62) - 1]), "a.u": np.array([2**64 - 1], np.uint64)}
    weight_elements(model).write(tmp_path / "w.csv")
    values = [line.rsplit(",", 1)[1] for line in (tmp_path / "w.csv").read_text().splitlines()[1:]]
    assert values == [str(2**53 + 1), str(-(2**62) - 1), str(2**64 - 1)]
    with pytest.warns(TbqWarning, match="above 2"):
        weight_elements(model).to_arrow()


def test_fortran_order_and_big_endian_arrays(tmp_path):
    array = np.arange(24, dtype=">f4").reshape(2, 3, 4)
    np.savez(tmp_path / "m.npz", **{"a.f": np.asfortranarray(array), "a.c": array})
    got = rows(weight_elements(tmp_path / "m.npz"))
    assert [r["value"] for r in got] == [*range(24)] * 2


def test_keras_archive_names_layers_and_variables(tmp_path):
    kernel, bias = np.ones((2, 3), np.float32), np.zeros(3, np.float32)
    inner = write_keras(
        tmp_path / "m.keras",
        {
            "layers/dense": ("hidden", [kernel, bias]),
            "layers/dense_1": ("out", [kernel]),
            "layers/lstm/cell": ("lstm_cell", [kernel, kernel, bias]),
            "layers/my_layer": ("mine", [bias]),
            "optimizer": ("adam", [bias]),
        },
    )
    want = [
        ("hidden", "kernel"), ("hidden", "bias"), ("out", "kernel"), ("lstm/lstm_cell", "kernel"),
        ("lstm/lstm_cell", "recurrent_kernel"), ("lstm/lstm_cell", "bias"), ("mine", "0"),
    ]  # fmt: skip
    for path in (tmp_path / "m.keras", inner):
        assert [(r["layer"], r["parameter"]) for r in rows(weights(path))] == want


def test_models_are_taken_by_what_they_offer():
    class Variable:
        def __init__(self, path, array):
            self.path, self.array = path, array
            self.shape, self.dtype = array.shape, array.dtype.name

        def numpy(self):
            return self.array

    class Keras:
        name = "sequential"
        weights = [Variable("sequential/dense/kernel", np.ones((2, 2)))]  # noqa: RUF012

    class Torch:
        def state_dict(self):
            return {"fc.weight": np.ones(3), "fc._extra_state": None}

    assert [(r["layer"], r["parameter"], r["norm"]) for r in rows(weights(Keras()))] == [
        ("dense", "kernel", 2)
    ]
    assert [(r["layer"], r["count"]) for r in rows(weights(Torch()))] == [("fc", 3)]
    assert [r["layer"] for r in rows(weights({"params": {"dense": {"w": np.ones(1)}}}))] == ["params.dense"]
    with pytest.raises(UsageError, match="got a list, which has no parameters"):
        weights([1, 2])


def test_diff_tells_what_changed(tmp_path):
    other = {name: array.copy() for name, array in MODEL.items()}
    other["encoder.0.weight"][1, 2] += 2
    other["head.weight"] = np.zeros((3, 1))
    other["new.bias"] = np.zeros(1)
    del other["head.steps"]
    np.savez(tmp_path / "b.npz", **other)
    safetensors.numpy.save_file(MODEL, tmp_path / "a.safetensors")
    got = {
        (r["layer"], r["parameter"]): r
        for r in rows(weights_diff(tmp_path / "a.safetensors", tmp_path / "b.npz"))
    }
    assert {key: row["status"] for key, row in got.items()} == {
        ("encoder.0", "weight"): "changed", ("encoder.0", "bias"): "same", ("head", "weight"): "shape",
        ("head", "steps"): "removed", ("new", "bias"): "added",
    }  # fmt: skip
    changed = got["encoder.0", "weight"]
    assert changed["changed"] == 1 and changed["max_abs"] == 2 and changed["norm"] == 2
    assert changed["mean_abs"] == pytest.approx(2 / 6)
    assert changed["relative"] == pytest.approx(2 / np.linalg.norm(MODEL["encoder.0.weight"]))
    a, b = MODEL["encoder.0.weight"].ravel(), other["encoder.0.weight"].ravel()
    assert changed["cosine"] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    assert [r["layer"] for r in rows(weights_diff(MODEL, other, layer="new"))] == ["new"]


def test_diff_of_readers_that_cut_blocks_differently(tmp_path):
    big = {"a.w": np.random.default_rng(0).standard_normal((3, 50_001)).astype(np.float32)}
    safetensors.numpy.save_file(big, tmp_path / "a.safetensors")
    big["a.w"][2, -1] += 1
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["a.w"] = big["a.w"]
    (row,) = rows(weights_diff(tmp_path / "a.safetensors", tmp_path / "b.h5"))
    assert (row["status"], row["changed"]) == ("changed", 1)
    assert row["max_abs"] == pytest.approx(1)


def test_blocks_are_never_larger_than_asked_for(tmp_path):
    for name in files(tmp_path):
        with parameters(tmp_path / name) as found:
            for parameter in found:
                assert all(block.size <= 2 for block in parameter.blocks(2)), name


def test_slabs_cover_in_order():
    array = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    for size in (1, 2, 3, 5, 8, 12, 100):
        flat = np.concatenate([array[where].reshape(-1) for where in slabs(array.shape, size)])
        np.testing.assert_array_equal(flat, array.ravel())


def test_lazy_name():
    assert tbq.results.weights is weights
    assert math.isclose(rows(tbq.results.weights({"a.b": np.ones(4)}))[0]["norm"], 2)


@pytest.mark.parametrize("size", [1, 5, 12, 1 << 16])
def test_blocks_of_chunked_and_of_fortran_arrays_are_in_c_order(tmp_path, size):
    array = np.arange(120.0).reshape(12, 10)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.create_dataset("a/w", data=array, chunks=(5, 3), compression="gzip")
    np.savez(tmp_path / "m.npz", **{"a.w": np.asfortranarray(array)})
    for name in ("m.h5", "m.npz"):
        with parameters(tmp_path / name) as (found,):
            blocks = list(found.blocks(size))
        assert max(block.size for block in blocks) <= size
        np.testing.assert_array_equal(np.concatenate(blocks), array.ravel())


def test_a_directory_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(SourceError, match="is a directory, want a checkpoint file") as caught:
        weights(tmp_path / "none")
    assert "no file that ends in .safetensors" in (caught.value.hint or "")
    with tbq.SummaryWriter(tmp_path / "log") as writer:
        writer.add_scalar("loss", 1.0, 0)
    with pytest.raises(SourceError) as caught:
        weight_elements(tmp_path / "log")
    assert (caught.value.hint or "").startswith("it has event files, not weights: tbq ls ")
    (tmp_path / "log" / "checkpoints").mkdir()
    np.savez(tmp_path / "log" / "checkpoints" / "model.npz", w=np.ones(2))
    with pytest.raises(SourceError) as caught:
        weights(tmp_path / "log")
    assert caught.value.hint == f"tbq weights {tmp_path / 'log' / 'checkpoints' / 'model.npz'}"


def test_elements_of_logged_tensors_are_as_those_of_weights(tmp_path):
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    with tbq.SummaryWriter(tmp_path / "log") as writer:
        writer.add_tensor("w", array, 3)
        writer.add_tensor("odd", np.array([1j]), 3)
    tensors = tbq.open(tmp_path / "log").tensors()
    with pytest.warns(TbqWarning, match="1 tensor without real numbers left out"):
        elements = tensors.elements()
    got = elements.to_arrow()
    assert got.column_names == ["run", "tag", "step", "wall_time", "index", "value"]
    want = weight_elements({"w": array}).to_arrow()
    assert got.select(["index", "value"]).to_pylist() == want.select(["index", "value"]).to_pylist()
    elements.write(tmp_path / "elements.csv")
    assert (tmp_path / "elements.csv").read_text().splitlines()[0] == "run,tag,step,wall_time,index,value"
