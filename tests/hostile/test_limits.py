"""Small files that unpack to large ones: bounded in memory, on disk and by default, with a limit that can be raised."""

from __future__ import annotations

import contextlib
import doctest
import gzip
import json
import os
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import eventfile as ef
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from console import piped
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq import limits
from tbq.errors import SourceError, TbqWarning, UsageError
from tbq.results import weight_elements, weights
from tbq.results.files import read_array, write_predictions
from tbq.source.inflate import Unpacked

MB = 1 << 20


def zeros(count: int) -> bytes:
    """This many zeros, as consecutive gzip members."""
    return gzip.compress(bytes(16 * MB), mtime=0) * (count // (16 * MB))


def log_of(root: Path, zeros_after: int, files: int = 1) -> Path:
    """A compressed event file of ten scalars, followed by zeros."""
    root.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        rows = [ef.scalar("loss", step, step / 3 + number, ef.WALL + step) for step in range(10)]
        data = gzip.compress(ef.event_file([ef.version(), *rows])) + zeros(zeros_after)
        (root / f"events.out.tfevents.{number}.gz").write_bytes(data)
    return root


def in_folder(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """The default limit made small, so that tests need not unpack hundreds of megabytes."""
    monkeypatch.setattr(limits, "FLOOR", 4 * MB)
    monkeypatch.setattr("tbq.source.inflate.FLOOR", 4 * MB)
    monkeypatch.setattr(limits, "RATIO", 20)
    monkeypatch.setattr("tbq.source.inflate.RATIO", 20)
    return 4 * MB


def test_a_bomb_is_read_up_to_the_limit_and_told(tmp_path: Path, small: int) -> None:
    root = log_of(tmp_path / "log", 64 * MB)
    log = tbq.open(root)
    with pytest.warns(
        TbqWarning, match="unpacks to more than the limit of .* to raise it: --max-unpacked .*MB"
    ) as reported:
        assert len(log.scalars()) == 10
    assert len(reported) == 1
    (problem,) = [each for each in log.problems if each.code == "unpacking"]
    assert problem.severity == "error" and "max_unpacked=" in problem.message
    size = next(root.iterdir()).stat().st_size
    assert small <= in_folder(log._reader.unpacked._scratch.folder) <= small + 21 * size
    with pytest.raises(tbq.errors.DamageError):
        tbq.open(root).scalars(on_error="raise")
    assert [each.code for each in tbq.doctor(root)] == ["TBQ110", "TBQ205", "TBQ109"]


@pytest.mark.long
@pytest.mark.parametrize("limit", [100 * MB, "100MiB", "0.2 GB"])
def test_the_limit_can_be_raised_and_lowered(tmp_path: Path, small: int, limit: Any) -> None:
    root = log_of(tmp_path / "log", 64 * MB)
    log = tbq.open(root, max_unpacked=limit)
    with pytest.warns(TbqWarning, match="zeros instead of the start of a record"):
        assert len(log.scalars()) == 10
    assert not [each for each in log.problems if each.code == "unpacking"]
    assert "TBQ110" not in [each.code for each in tbq.doctor(root, max_unpacked=limit)]
    with pytest.warns(TbqWarning, match=r"the limit of 100 B: only its beginning is read; to raise it"):
        assert len(tbq.open(root, max_unpacked=100).scalars()) == 1


def test_many_bombs_share_what_is_spare(tmp_path: Path, small: int) -> None:
    """Otherwise each of a thousand small files could unpack to the floor."""
    root = log_of(tmp_path / "log", 64 * MB, files=5)
    log = tbq.open(root)
    with pytest.warns(TbqWarning):
        log.scalars()
    sizes = sum(path.stat().st_size for path in root.iterdir())
    assert in_folder(log._reader.unpacked._scratch.folder) <= small + 21 * sizes
    assert len([each for each in log.problems if each.code == "unpacking"]) == 5


@pytest.mark.long
def test_commands_say_it_and_take_the_option(tmp_path: Path, small: int) -> None:
    root = str(log_of(tmp_path / "log", 64 * MB))
    done = piped(["export", root])
    assert done.code == 0 and len(done.stdout.splitlines()) == 11
    assert "--max-unpacked" in done.stderr and "than the limit" in done.stderr
    assert piped(["export", root, "--strict"]).code == 1
    for command in (
        ["export"],
        ["ls"],
        ["tags"],
        ["summary"],
        ["reduce"],
        ["doctor"],
        ["media", "-o", str(tmp_path / "m")],
    ):
        done = piped([*command, root, "--max-unpacked", "200MB"])
        assert "the limit" not in done.stderr + done.stdout
        assert done.code == (command == ["doctor"])
    for command in (["show", root, "loss"], ["sql", root, "select 1"]):
        assert piped([*command, "--max-unpacked", "200MB"]).code == 0
    assert "the limit" in piped(["doctor", root]).stdout  # the option is gone with its command
    new = piped(["rewrite", root, "-o", str(tmp_path / "new"), "--repair", "--max-unpacked", "200MB"])
    assert new.code == 0 and "10 records" not in new.stderr
    for wrong in ("4 gigs", "-1", "", "1e9"):
        done = piped(["ls", root, "--max-unpacked", wrong])
        assert done.code == 2 and "want bytes, or a size with its unit" in done.stderr


@pytest.mark.long
def test_the_default_limit_is_what_the_docs_say(tmp_path: Path) -> None:
    """A gigabyte of zeros in a megabyte, with nothing made smaller for the test."""
    root = log_of(tmp_path / "log", 1 << 30)
    size = next(root.iterdir()).stat().st_size
    assert size < 2 * MB
    log = tbq.open(root)
    with pytest.warns(TbqWarning, match=r"\(256 MiB and 100 times its size\)"):
        assert len(log.scalars()) == 10
    assert in_folder(log._reader.unpacked._scratch.folder) == 256 * MB + 100 * size


@given(
    members=st.lists(st.integers(0, 3 * MB), min_size=1, max_size=4),
    most=st.integers(1, 5 * MB),
    kind=st.sampled_from(["gzip", "zlib"]),
)
@examples(40)
def test_unpacking_stops_exactly_at_the_limit(folder: Path, members: list[int], most: int, kind: str) -> None:
    plain = [bytes([number + 1]) * size for number, size in enumerate(members)]
    if kind == "zlib":
        plain = plain[:1]
    path = folder / "events.out.tfevents.1"
    path.write_bytes(b"".join(map(gzip.compress if kind == "gzip" else zlib.compress, plain)))
    want = b"".join(plain)
    unpacked = Unpacked(most)
    made = unpacked(os.fsencode(path))
    got = Path(os.fsdecode(made)).read_bytes() if made is not None else b""
    assert got == want[:most]
    assert (os.fsencode(path) in unpacked.failures) == (len(want) > most)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packed")


# ---- arrays ------------------------------------------------------------------------------------------------------


def npz_of(path: Path, shape: tuple[int, ...], fortran: bool = False, **others: Any) -> Path:
    """An `.npz` with an array of zeros, written without holding it in memory."""
    head = repr({"descr": "<f4", "fortran_order": fortran, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        with archive.open("logits.npy", "w", force_zip64=True) as member:
            member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
            left = 4 * int(np.prod(shape))
            while left:
                member.write(bytes(min(left, MB)))
                left -= min(left, MB)
        for name, array in others.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array)
    return path


PROGRAM = """
import json, resource, sys
import numpy, pyarrow
from tbq.results import predictions
from tbq.results.files import read_array, write_predictions
asked = json.loads(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    write_predictions(asked["outputs"], asked["out"], **asked["options"])
    said = "done"
except Exception as error:
    said = f"{type(error).__name__}: {error}"
print(json.dumps([said, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024]))
"""


def predicted(outputs: str, out: Path, **options: Any) -> tuple[str, int]:
    """The output of `write_predictions` in its own process, and the growth of that process in bytes."""
    asked = {"outputs": outputs, "out": str(out), "options": options}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(asked)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said, grown = json.loads(done.stdout)
    return said, grown


POSIX = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")


@pytest.mark.long
@POSIX
def test_predictions_of_a_bomb_are_refused_at_once(tmp_path: Path) -> None:
    path = npz_of(tmp_path / "bomb.npz", (10_000_000, 10))
    assert path.stat().st_size < 5 * MB
    said, grown = predicted(f"{path}:logits", tmp_path / "out.csv")
    assert said.startswith("SourceError") and "unpacks to 400.0 MB, the limit is" in said
    assert 'max_unpacked="420.0MB"' in said and "--max-unpacked 420.0MB" in said and str(path) in said
    assert grown < 60 * MB and not (tmp_path / "out.csv").exists()
    with pytest.warns(TbqWarning, match=r"no statistics for 'logits': it unpacks to 400\.0 MB"):
        assert weights(path).to_arrow()["mean"].to_pylist() == [None]
    with pytest.raises(SourceError, match=r"it unpacks to 400\.0 MB"):
        weight_elements(path).to_arrow()


@pytest.mark.long
@POSIX
def test_predictions_of_large_arrays_are_streamed(tmp_path: Path) -> None:
    """200 MB of outputs take a fraction of that in memory; for `.npz` as for `.npy`."""
    path = npz_of(tmp_path / "large.npz", (2_500_000, 20), y=np.zeros(2_500_000, np.int8))
    said, grown = predicted(f"{path}:logits", tmp_path / "out.parquet", labels=f"{path}:y")
    assert said == "done" and grown < 150 * MB
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_rows == 2_500_000


@pytest.mark.parametrize("fortran", [False, True])
def test_blocks_make_the_same_array(tmp_path: Path, fortran: bool) -> None:
    rng = np.random.default_rng(1)
    for shape in ((7,), (3, 5), (200_000, 3), (2, 70_000), (4, 3, 2), (0, 3), (3, 0), (1, 1)):
        array = rng.normal(size=shape).astype(np.float32)
        stored = np.asfortranarray(array) if fortran else array
        np.savez_compressed(tmp_path / "a.npz", x=stored)
        np.save(tmp_path / "a.npy", stored)
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("x", data=stored, compression="gzip" if array.size else None)
        for spec in ("a.npz:x", "a.npy", "a.h5:x"):
            got = read_array(str(tmp_path / spec))
            assert got.shape == array.shape
            np.testing.assert_array_equal(got, array)


def test_too_few_labels_are_counted_whole(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((200_000, 2), np.float32), y=np.zeros(70_000, np.int64))
    with pytest.raises(UsageError, match="200000 outputs but 70000 labels"):
        write_predictions(
            f"{tmp_path / 'a.npz'}:x", str(tmp_path / "o.csv"), labels=f"{tmp_path / 'a.npz'}:y"
        )


@pytest.mark.long
def test_hdf5_chunks_that_unpack_to_more_than_their_dataset(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.create_dataset("a/large", (80_000_000,), "f4", chunks=(1 << 20,), compression="gzip")[:] = 0
        # The dataset has two elements, its one chunk 320 million bytes.
        file.create_dataset(
            "a/chunk", (2,), "f4", maxshape=(None,), chunks=(80_000_000,), compression="gzip"
        )[:] = 1
        file["a/own"] = np.ones(3)
    assert (tmp_path / "m.h5").stat().st_size < 4 * MB
    with pytest.warns(TbqWarning) as reported:
        rows = weights(tmp_path / "m.h5").to_arrow().to_pylist()
    assert sorted(str(each.message).split("'")[1] for each in reported) == ["a/chunk", "a/large"]
    assert {row["parameter"]: row["mean"] for row in rows} == {"chunk": None, "large": None, "own": 1.0}
    rows = weights(tmp_path / "m.h5", layer="a", max_unpacked="2GB").to_arrow().to_pylist()
    assert {row["parameter"]: row["mean"] for row in rows} == {"chunk": 1.0, "large": 0.0, "own": 1.0}


@pytest.mark.long
def test_keras_archives_that_unpack_to_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.keras"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("model.weights.h5", "w") as member,
    ):
        for _ in range(300):
            member.write(bytes(MB))
    with pytest.raises(SourceError, match=r"model\.weights\.h5 unpacks to 314\.6 MB, the limit is"):
        weights(path)
    with pytest.raises(SourceError, match="not a valid HDF5 file"):
        weights(path, max_unpacked="1GB")
    # A member that claims to be smaller than it is: no more is unpacked than it claims.
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 1000)
    path.write_bytes(bytes(data))
    with pytest.raises(SourceError):
        weights(path)


@pytest.mark.long
def test_many_names_of_the_same_bytes(tmp_path: Path) -> None:
    """Hard links to one dataset, and overlapping members of a zip: each is small, together they are endless."""
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.create_dataset("a/w0", (40 << 20,), "f4", chunks=(1 << 20,), compression="gzip")[:] = 0
        for number in range(1, 50):
            file[f"a/w{number}"] = file["a/w0"]
    with pytest.warns(TbqWarning, match="together unpacks to") as reported:
        rows = weights(tmp_path / "m.h5").to_arrow().to_pylist()
    assert len(reported) == 49 and [row["mean"] for row in rows] == [0.0] + [None] * 49
    path = npz_of(tmp_path / "one.npz", (40 << 20,))
    data = path.read_bytes()
    start = data.rindex(b"PK\x01\x02")
    end = data.rindex(b"PK\x05\x06")
    entries = data[start:end] * 50
    tail = bytearray(data[end:])
    tail[8:16] = struct.pack("<HHI", 50, 50, len(entries))
    (tmp_path / "many.npz").write_bytes(data[:start] + entries + tail)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with contextlib.suppress(SourceError):  # new versions of Python refuse what overlaps
            means = weights(tmp_path / "many.npz").to_arrow()["mean"].to_pylist()
            assert means == [0.0] + [None] * 49 and len(said) == 49


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_packed_by_methods_that_unpack_at_once(tmp_path: Path, method: int) -> None:
    """Four kilobytes of bzip2 can be gigabytes, and zipfile does not unpack it in pieces; NumPy does not write it."""
    for name, member in (("m.npz", "w.npy"), ("m.keras", "model.weights.h5")):
        with zipfile.ZipFile(tmp_path / name, "w", method) as archive:
            archive.writestr(member, bytes(100))
        with pytest.raises(SourceError, match="compressed with method"):
            weights(tmp_path / name)


def test_shapes_that_no_integer_holds(tmp_path: Path) -> None:
    head = repr({"descr": "|S9", "fortran_order": False, "shape": (1 << 62, 4)}).encode()
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("w.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head) + 1) + head + b"\n")
    with pytest.warns(TbqWarning, match="tbq cannot read dtype bytes72"):
        assert weights(tmp_path / "m.npz").to_arrow()["count"].to_pylist() == [None]


@pytest.mark.long
def test_parquet_of_runs_of_one_value(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    block = pa.table({"a": np.zeros(1 << 20), "b": np.zeros(1 << 20)})
    with pq.ParquetWriter(path, block.schema, compression="zstd") as writer:
        for _ in range(24):
            writer.write_table(block)
    assert path.stat().st_size < MB
    with pytest.raises(SourceError, match=r"unpacks to 402\.7 MB, the limit is"):
        read_array(str(path))
    assert read_array(str(path), max_unpacked="1GB").shape == (24 << 20, 2)
    texts = pa.table({"name": pa.array(["x" * MB] * 200).dictionary_encode()})
    pq.write_table(texts, tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 2 * MB
    assert len(read_array(str(tmp_path / "t.parquet"))) == 200


@given(st.integers(1, 10**15), st.one_of(st.none(), st.integers(1, 10**15)), st.integers(0, 10**13))
def test_what_a_refusal_suggests_is_enough(unpacked: int, most: int | None, packed: int) -> None:
    limit = limits.Limit.of(most)
    said = limit.refusal(unpacked, packed)
    assert (said is None) == (unpacked <= limit.bytes_of(packed))
    if said is not None and unpacked >= 1000:
        suggested = said.partition('max_unpacked="')[2].rstrip('"')
        assert limits.Limit.of(suggested).refusal(unpacked, packed) is None


@pytest.mark.parametrize("wrong", ["", "GB", "4 G B", "1e3", "-1", 0, -5, True, 1.5, "٣MB"])
def test_sizes_that_are_none(wrong: Any) -> None:
    with pytest.raises(UsageError, match="want bytes, or a size with its unit"):
        tbq.open(".", max_unpacked=wrong)


def test_a_limit_ends_with_its_block() -> None:
    with contextlib.suppress(ZeroDivisionError), limits.allowing("1GB"):
        assert limits.Limit.of(None).most == 10**9
        assert limits.Limit.of("2GB").most == 2 * 10**9
        raise ZeroDivisionError
    assert limits.Limit.of(None).most is None


def test_examples() -> None:
    from tbq.export import markdown

    for module in (limits, markdown):
        result = doctest.testmod(module)
        assert result.attempted and result.failed == 0
