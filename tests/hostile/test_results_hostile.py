"""Checkpoints that lie about lengths, offsets, links and pickles: a clear error, and no code is run."""

import contextlib
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import pytest
import safetensors.numpy

from tbq.errors import SourceError, TbqError, TbqWarning
from tbq.results import weight_elements, weights
from tbq.results.files import read_array


class Bomb:
    """Unpickling this writes a file: the proof that code ran."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (str(self.marker), "w")


def pack(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


GOOD = pack({"a.w": entry([2], 0, 8), "a.b": entry([1], 8, 12)}, bytes(12))
BAD = {
    "empty": b"",
    "short": b"\x01\x00",
    "length past the file": struct.pack("<Q", 1000) + b"{}",
    "length of 2^63": struct.pack("<Q", 1 << 63) + b"{}",
    "length of 2^64 - 1": struct.pack("<Q", (1 << 64) - 1) + b"{}",
    "not JSON": pack(b"{nope"),
    "not UTF-8": pack(b"\xff\xfe"),
    "a list": pack([1]),
    "nested": pack(b"[" * 200_000),
    "a huge number": pack(b'{"a": ' + b"9" * 5000 + b"}"),
    "twice": pack(b'{"a": %b, "a": %b}' % ((json.dumps(entry([1], 0, 4)).encode(),) * 2), bytes(4)),
    "entry of text": pack({"a": "x"}),
    "no dtype": pack({"a": {"shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    "negative size": pack({"a": entry([-1], 0, 4)}, bytes(4)),
    "size of text": pack({"a": entry(["1"], 0, 4)}, bytes(4)),
    "size of true": pack({"a": entry([True], 0, 4)}, bytes(4)),
    "size of float": pack({"a": entry([1.0], 0, 4)}, bytes(4)),
    "huge rank": pack({"a": entry([1] * 100_000, 0, 4)}, bytes(4)),
    "product past 2^64": pack({"a": entry([1 << 40, 1 << 40], 0, 4)}, bytes(4)),
    "product that wraps to 4 bytes": pack({"a": entry([1 << 62, 4, 1], 0, 4)}, bytes(4)),
    "end before begin": pack({"a": entry([1], 4, 0)}, bytes(4)),
    "end past the file": pack({"a": entry([4], 0, 16)}, bytes(4)),
    "offsets past 2^63": pack({"a": entry([1], 1 << 70, (1 << 70) + 4)}, bytes(4)),
    "overlap": pack({"a": entry([2], 0, 8), "b": entry([1], 4, 8)}, bytes(8)),
    "hole": pack({"a": entry([1], 0, 4), "b": entry([1], 8, 12)}, bytes(12)),
    "rest": pack({"a": entry([1], 0, 4)}, bytes(8)),
    "three offsets": pack({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 2, 4]}}, bytes(4)),
    "half an element": pack({"a": entry([1], 0, 3)}, bytes(3)),
    "odd 4-bit": pack({"a": entry([3], 0, 1, "F4")}, bytes(1)),
}


@pytest.mark.parametrize("name", BAD)
def test_safetensors_that_lie_are_refused_as_the_library_does(tmp_path, name):
    path = tmp_path / "m.safetensors"
    path.write_bytes(BAD[name])
    with pytest.raises(SourceError, match="not a valid safetensors file") as error:
        weights(path)
    assert error.value.path == str(path) and error.value.offset is not None and error.value.hint
    if name not in ("huge rank", "a huge number", "twice"):  # the library is laxer on these
        with pytest.raises(Exception, match=r"."):
            safetensors.numpy.load(BAD[name])


def test_safetensors_cut_anywhere(tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(GOOD)
    assert len(weights(path)) == 2
    for size in range(len(GOOD)):
        path.write_bytes(GOOD[:size])
        with pytest.raises(SourceError):
            weights(path)


def test_a_file_that_shrinks_while_it_is_read(tmp_path):
    from tbq.results.checkpoint import parameters

    path = tmp_path / "m.safetensors"
    safetensors.numpy.save_file({"a.w": np.ones(300_000, np.float32)}, path)
    with parameters(path) as (parameter,):
        blocks = parameter.blocks()
        next(blocks)
        with open(path, "r+b") as file:
            file.truncate(300_000)
        with pytest.raises(SourceError, match="ended inside"):
            list(blocks)


def test_an_unknown_type_is_listed_without_numbers(tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(pack({"a": entry([2], 0, 3, "F12_X")}, bytes(3)))
    with pytest.warns(TbqWarning, match="F12_X"):
        (row,) = weights(path).to_arrow().to_pylist()
    assert row["dtype"] == "F12_X" and row["mean"] is None


def test_bytes_at_random_never_end_in_another_error(tmp_path):
    rng = np.random.default_rng(5)
    np.savez_compressed(tmp_path / "m.npz", **{"a.w": np.arange(50.0), "a.b": np.ones((3, 4))})
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["a/w"] = np.arange(50.0)
    (tmp_path / "m.safetensors").write_bytes(GOOD)
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as archive:
        archive.write(tmp_path / "m.h5", "model.weights.h5")
    for name in ("m.npz", "m.safetensors", "m.h5", "m.keras"):
        good = (tmp_path / name).read_bytes()
        for _ in range(120):
            bad = bytearray(good)
            for at in rng.integers(0, len(bad), 4):
                bad[at] = rng.integers(0, 256)
            path = tmp_path / f"bad.{name[2:]}"
            path.write_bytes(
                bytes(bad[: rng.integers(1, len(bad) + 1)]) if rng.random() < 0.5 else bytes(bad)
            )
            with contextlib.suppress(TbqError, TbqWarning):  # a warning is an error under pytest
                weights(path)


def test_npz_with_a_pickle_is_refused_and_nothing_runs(tmp_path):
    marker = tmp_path / "ran"
    np.savez(tmp_path / "m.npz", w=np.array([Bomb(marker)], dtype=object))
    with pytest.warns(TbqWarning, match="never loads"):
        weights(tmp_path / "m.npz")
    with pytest.raises(SourceError, match="pickle"):
        weight_elements(tmp_path / "m.npz").to_arrow()
    np.save(tmp_path / "p.npy", np.array([Bomb(marker)], dtype=object), allow_pickle=True)
    with pytest.raises(SourceError, match="never loads") as error:
        read_array(str(tmp_path / "p.npy"))
    assert error.value.code == "unsafe"
    with pytest.raises(SourceError):
        read_array(str(tmp_path / "m.npz"))
    assert not marker.exists()


def test_a_pickle_under_any_ending_never_runs(tmp_path):
    marker = tmp_path / "ran"
    for ending in ("safetensors", "npz", "h5", "keras", "pt", "pth", "ckpt", "bin"):
        path = tmp_path / f"m.{ending}"
        path.write_bytes(pickle.dumps(Bomb(marker)))
        with pytest.raises(TbqError):
            weights(path)
    assert not marker.exists()


def npy(shape, data=b"", descr="<f4", fortran=False):
    head = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("shape", [(1 << 50,), (1 << 40, 1 << 20), (3,), (2, 2)])
def test_npy_that_claims_more_than_it_holds(tmp_path, shape, fortran):
    with zipfile.ZipFile(tmp_path / "m.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.w.npy", npy(shape, bytes(8), fortran=fortran))
    with pytest.raises(SourceError):
        weights(tmp_path / "m.npz")
    (tmp_path / "p.npy").write_bytes(npy(shape, bytes(8), fortran=fortran))
    with pytest.raises(SourceError):
        read_array(str(tmp_path / "p.npy"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x09\x00",
        npy((-1,)),
        npy((1,), descr="zz"),
        npy("x"),
        b"\x93NUMPY\x01\x00\xff\xff{",
    ],
)
def test_npy_with_a_wrong_head(tmp_path, content):
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("w.npy", content)
    with pytest.raises(SourceError):
        weights(tmp_path / "m.npz")


def test_hdf5_links_to_other_files_are_not_followed(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["w"] = np.ones(3)
    (tmp_path / "raw").write_bytes(np.ones(3).tobytes())
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "w", (3,))
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["a/link"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/w")
        file["a/soft"] = h5py.SoftLink("/a/own")
        file["a/own"] = np.zeros(2)
        file["a"].create_dataset("outside", (3,), "f8", external=[(str(tmp_path / "raw"), 0, 24)])
        file["a"].create_virtual_dataset("virtual", layout)
    with pytest.warns(TbqWarning, match="another file"):
        got = weights(tmp_path / "m.h5").to_arrow().to_pylist()
    assert {row["parameter"]: row["mean"] for row in got} == {"own": 0.0, "outside": None, "virtual": None}


PLACES = [
    "model_weights",
    "layers",
    "vars",
    "dense",
    "a/vars",
    "layers/dense/vars",
    "layers/dense/vars/0",
    "a/b/w",
]
WAYS = ["external", "soft", "virtual", "growing", "outside"]


def lead_out(file, place, way, target):
    """A link in an HDF5 file to the dataset /w, or the group /g, of another file."""
    if way == "external":
        file[place] = h5py.ExternalLink(str(target), "/w" if place.endswith(("0", "w")) else "/g")
    elif way == "soft":  # to a link that leads out
        file["out"] = h5py.ExternalLink(str(target), "/w" if place.endswith(("0", "w")) else "/g")
        file[place] = h5py.SoftLink("/out")
    elif way == "virtual":
        layout = h5py.VirtualLayout((3,), "f8")
        layout[:] = h5py.VirtualSource(str(target), "w", (3,))
        file.create_virtual_dataset(place, layout)
    elif way == "growing":  # its shape is that of the other file
        layout = h5py.VirtualLayout((1, 3), "f8", maxshape=(1, None))
        source = h5py.VirtualSource(str(target), "w", (3,), maxshape=(None,))
        layout[0, : h5py.h5s.UNLIMITED] = source[: h5py.h5s.UNLIMITED]
        file.create_virtual_dataset(place, layout)
    else:
        file.create_dataset(place, (3,), "f8", external=[(str(target), 0, 24)])


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("way", WAYS)
def test_hdf5_never_leads_to_another_file_nor_waits_for_a_pipe(tmp_path, way):
    """In its own process: h5py holds the GIL while it waits, so no timeout in this process would end it."""
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["w"] = np.full(3, 31337.5)
        file["g/w"] = np.full(3, 31337.5)
        file["g/0"] = np.full(3, 31337.5)
        file["g/vars/0"] = np.full(3, 31337.5)
        file["g"].attrs["name"] = "secret"
        file["g/vars"].attrs["name"] = "secret"
    os.mkfifo(tmp_path / "pipe")
    models = []
    for place in PLACES:
        for target in ("secret.h5", "pipe"):
            models.append(tmp_path / f"{place.replace('/', '.')}.{target}.h5")
            with h5py.File(models[-1], "w") as file:
                file["own/w"] = np.zeros(2)
                lead_out(file, place, way, tmp_path / target)
    program = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "from tbq.results import weights\n"
        "for path in sys.argv[1:]:\n"
        "    print(path, weights(path).to_arrow().to_pylist(), flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, models)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("'mean': 0.0") == len(models)  # each one's own
    assert "31337" not in done.stdout and "secret'" not in done.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("ending", ["h5", "keras", "npz", "safetensors", "pt"])
def test_a_pipe_is_not_waited_for(tmp_path, ending):
    os.mkfifo(tmp_path / f"m.{ending}")
    with pytest.raises(SourceError, match="is a pipe or device"):
        weights(tmp_path / f"m.{ending}")
    with pytest.raises(SourceError, match="no such file"):
        read_array(str(tmp_path / f"m.{ending}"))


def test_hdf5_that_loops_or_claims_without_holding(tmp_path):
    with h5py.File(tmp_path / "m.h5", "w") as file:
        group = file.create_group("a/b")
        group["back"] = file["a"]
        group["w"] = np.ones(2)
        file["a"].create_dataset("claim", (1 << 50,), "f4", chunks=(1 << 20,))
    with pytest.warns(TbqWarning, match="unpacks to"):
        got = weights(tmp_path / "m.h5").to_arrow().to_pylist()
    assert sorted(row["parameter"] for row in got) == ["claim", "w"]


def test_keras_archives_without_weights_or_cut(tmp_path):
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
    with pytest.raises(
        SourceError, match=r"no model\.weights\.h5 in the archive, which contains config\.json"
    ):
        weights(path)
    inner = io.BytesIO()
    with h5py.File(inner, "w") as file:
        file["layers/dense/vars/0"] = np.ones(2)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.weights.h5", inner.getvalue()[:900])
    with pytest.raises(SourceError, match="not a valid HDF5 file"):
        weights(path)


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(SourceError, match="no such file"):
        weights(tmp_path / "none.npz")
    (tmp_path / "dir.npz").mkdir()
    with pytest.raises(SourceError, match="is a directory"):
        weights(tmp_path / "dir.npz")


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "arrow"])
def test_names_that_are_no_unicode_are_escaped(tmp_path, ending):
    path = tmp_path / "m.safetensors"
    path.write_bytes(pack(b'{"a\\ud800.w": %b}' % json.dumps(entry([1], 0, 4)).encode(), bytes(4)))
    assert weights(path).to_arrow()["layer"].to_pylist() == ["a\\ud800"]
    found = weight_elements(path)
    assert found.to_arrow()["layer"].to_pylist() == ["a\\ud800"]
    found.write(tmp_path / f"w.{ending}")
    assert b"ud800" in (tmp_path / f"w.{ending}").read_bytes()


def test_names_of_layers_cannot_break_a_line(tmp_path):
    import csv

    weight_elements({'a"b\nc,d.w': np.ones(1)}).write(tmp_path / "w.csv")
    with open(tmp_path / "w.csv", newline="") as file:
        assert list(csv.reader(file))[1] == ['a"b\nc,d', "w", "0", "1.0"]
