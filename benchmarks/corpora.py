"""Creates the log directories of the benchmarks in benchmarks/data/, in seconds, with the bytes of the real writers.

`python -m benchmarks.corpora` creates them all; `--check` compares with torch and TensorFlow, byte by byte.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import hashlib
import random
import shutil
import struct
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.bare import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DATA = Path(__file__).resolve().parent / "data"
START = 1_700_000_000.0
TORCH_WRITER = b"tensorboard.summary.writer.event_file_writer"
TF_WRITER = b"tensorflow.core.util.events_writer"
TAGS = [
    "loss/train", "loss/val", "accuracy/train", "accuracy/val", "lr", "grad_norm", "throughput", "epoch",
    "loss/aux_reg", "loss/aux_kl", "metrics/f1", "metrics/precision", "metrics/recall", "metrics/auroc",
    "timing/forward", "timing/backward", "timing/data", "memory/allocated", "memory/reserved", "weights/norm",
]  # fmt: skip


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build("encode.cpp", "-shared", "-fPIC")))
    library.record_crc.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    library.record_crc.restype = ctypes.c_uint32
    library.encode_scalars.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint64,
        *[ctypes.c_void_p] * 6,
        ctypes.c_int32,
    ]
    library.encode_scalars.restype = ctypes.c_uint64
    return library


# Records and protobuf messages, as much of them as the corpora need.


def record(payload: bytes) -> bytes:
    crc = _library().record_crc
    head = struct.pack("<Q", len(payload))
    return b"".join(
        [head, struct.pack("<I", crc(head, 8)), payload, struct.pack("<I", crc(payload, len(payload)))]
    )


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(number: int, data: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def event(wall: float, step: int, value: bytes) -> bytes:
    """The record of an Event with one Summary.Value."""
    return record(double(1, wall) + (integer(2, step) if step else b"") + message(5, message(1, value)))


def file_version(writer: bytes, wall: float = START) -> bytes:
    return record(double(1, wall) + message(3, b"brain.Event:2") + message(10, message(1, writer)))


def plugin(name: str, content: bytes = b"") -> bytes:
    """Summary.Value.metadata with a plugin's name."""
    return message(9, message(1, message(1, name.encode()) + (message(2, content) if content else b"")))


def tensor(dtype: int, shape: Sequence[int], fields: bytes) -> bytes:
    """Summary.Value.tensor."""
    dims = b"".join(message(2, integer(1, size)) for size in shape)
    return message(8, integer(1, dtype) + message(2, dims) + fields)


def scalars(
    tags: Sequence[str],
    codes: np.ndarray[Any, Any],
    steps: np.ndarray[Any, Any],
    walls: np.ndarray[Any, Any],
    values: np.ndarray[Any, Any],
    *,
    tf2: bool = False,
) -> memoryview:
    """The records of many scalar events, as torch writes them or as tf.summary does."""
    names = [tag.encode() for tag in tags]
    offsets = np.cumsum([0, *map(len, names)], dtype=np.uint32)
    columns: list[np.ndarray[Any, Any]] = [
        np.ascontiguousarray(codes, np.int32),
        np.ascontiguousarray(steps, np.int64),
        np.ascontiguousarray(walls, np.float64),
        np.ascontiguousarray(values, np.float32),
        np.frombuffer(b"".join(names), np.uint8),
        offsets,
    ]
    out = np.empty(len(codes) * (128 + max(map(len, names))), np.uint8)
    size = _library().encode_scalars(
        out.ctypes.data, len(codes), *[column.ctypes.data for column in columns], int(tf2)
    )
    return out[:size].data


def began(seed: int) -> float:
    """When the run of this seed began."""
    return START + seed * 1000


def training(
    tags: Sequence[str], first: int, last: int, *, seed: int = 0, tf2: bool = False, dt: float = 0.05
) -> memoryview:
    """Curves of all tags at the steps first to last - 1, step by step."""
    count = last - first
    steps = np.repeat(np.arange(first, last), len(tags))
    codes = np.tile(np.arange(len(tags)), count)
    rng = np.random.default_rng([seed, first])
    values = np.exp(-steps / 20_000) * (1 + codes) + rng.standard_normal(len(steps), np.float32) * np.float32(
        0.05
    )
    walls = began(seed) + steps * dt + codes * 13e-6 + rng.random(len(steps)) * 5e-6
    return scalars(tags, codes, steps, walls, values, tf2=tf2)


def png(side: int, rng: random.Random) -> bytes:
    """A PNG of noise, side × side pixels: a little more than 3 bytes per pixel."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + rng.randbytes(3 * side) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows, 1))
        + chunk(b"IEND", b"")
    )


def wav(samples: int, rng: random.Random) -> bytes:
    data = rng.randbytes(2 * samples)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 44100, 88200, 2, 16)
    head = struct.pack("<4sI4s", b"RIFF", 36 + len(data), b"WAVE")
    return head + form + struct.pack("<4sI", b"data", len(data)) + data


def torch_image(tag: str, side: int, encoded: bytes) -> bytes:
    return message(1, tag.encode()) + message(
        4, integer(1, side) + integer(2, side) + integer(3, 3) + message(4, encoded)
    )


def torch_audio(tag: str, samples: int, encoded: bytes) -> bytes:
    fields = varint(1 << 3 | 5) + struct.pack("<f", 44100.0) + integer(2, 1) + integer(3, samples)
    return message(1, tag.encode()) + message(6, fields + message(4, encoded) + message(5, b"audio/wav"))


def torch_histogram(tag: str, limits: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> bytes:
    total = float(counts.sum())
    stats = [float(limits[0]), float(limits[-1]), total, float(counts @ limits), float(counts @ limits**2)]
    fields = b"".join(double(i + 1, value) for i, value in enumerate(stats) if value)
    return message(1, tag.encode()) + message(
        5, fields + message(6, limits.tobytes()) + message(7, counts.astype(np.float64).tobytes())
    )


def tf2_histogram(tag: str, table: np.ndarray[Any, Any]) -> bytes:
    """`table` is float64 [buckets, 3]: left, right, count."""
    return (
        message(1, tag.encode()) + tensor(2, table.shape, message(4, table.tobytes())) + plugin("histograms")
    )


# The corpora.


def _name(index: int = 0, suffix: str = "") -> str:
    return f"events.out.tfevents.{int(START)}.host.{4000 + index}.0{suffix}"


def _write(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        out.writelines(parts)


def _curves(tags: Sequence[str], steps: int, **options: Any) -> Iterator[bytes | memoryview]:
    yield file_version(TF_WRITER if options.get("tf2") else TORCH_WRITER, began(options.get("seed", 0)))
    chunk = 1_000_000 // len(tags)
    for first in range(0, steps, chunk):
        yield training(tags, first, min(first + chunk, steps), **options)


def make_a(root: Path) -> None:
    """one file, 20 tags × 100,000 steps, as torch writes them"""
    _write(root / _name(), _curves(TAGS, 100_000))


def make_b(root: Path) -> None:
    """1,000 runs × 10 tags × 200 steps, as torch writes them"""
    for run in range(1000):
        _write(root / f"exp{run // 100}" / f"run_{run:04d}" / _name(run), _curves(TAGS[:10], 200, seed=run))


def make_c(root: Path) -> None:
    """one file, 10 tags × 100,000 steps, as tf.summary.scalar writes them: metadata in each event"""
    tags = [f"epoch_{tag.replace('/', '_')}" for tag in TAGS[:10]]
    _write(root / _name(suffix=".v2"), _curves(tags, 100_000, tf2=True))


def make_d(root: Path) -> None:
    """5 scalar tags × 20,000 steps among 60 MB of images, audio and histograms, as torch writes them"""

    def parts() -> Iterator[bytes | memoryview]:
        rng = random.Random(4)
        side, samples = 144, 22050
        pictures = [png(side, rng) for _ in range(8)]
        sounds = [wav(samples, rng) for _ in range(8)]
        limits = np.sort(np.random.default_rng(4).standard_normal(300))
        yield file_version(TORCH_WRITER)
        for first in range(0, 20_000, 50):
            yield training(TAGS[:5], first, first + 50)
            step, wall = first + 49, START + (first + 49) * 0.05
            yield event(wall, step, torch_image("samples", side, pictures[step % 8]))
            if first % 100 == 0:
                yield event(wall, step, torch_image("attention", side, pictures[(step + 3) % 8]))
                yield event(wall, step, torch_audio("speech", samples, sounds[step % 8]))
            for layer in range(10):
                counts = np.random.default_rng([first, layer]).integers(0, 1000, 300)
                yield event(wall, step, torch_histogram(f"weights/layer_{layer}", limits, counts))

    _write(root / _name(), parts())


def make_e(root: Path) -> None:
    """50 tags × 1,000 steps of TF2 histograms with 30 buckets, as tf.summary.histogram writes them"""

    def parts() -> Iterator[bytes]:
        yield file_version(TF_WRITER)
        rng = np.random.default_rng(5)
        for step in range(1000):
            edges = np.linspace(-3, 3 + step / 1000, 31)
            counts = rng.integers(0, 10_000, (50, 30)).astype(np.float64)
            for layer in range(50):
                table = np.stack([edges[:-1], edges[1:], counts[layer]], axis=1)
                wall = START + step * 2.0 + layer * 1e-4
                yield event(wall, step, tf2_histogram(f"block_{layer:02d}/kernel", table))

    _write(root / _name(suffix=".v2"), parts())


def make_f(root: Path) -> None:
    """one file of 1.1 GB: 20 tags × 1,100,000 steps, as torch writes them"""
    _write(root / _name(), _curves(TAGS, 1_100_000))


def _make_small(runs: int, steps: int = 20) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        for run in range(runs):
            _write(
                root / f"sweep_{run // 100:03d}" / f"trial_{run:05d}" / _name(run),
                _curves(TAGS[:5], steps, seed=run),
            )

    make.__doc__ = f"{runs:,} runs × 5 tags × {steps} steps, as torch writes them"
    return make


def make_images(root: Path) -> None:
    """2,000 PNG images of 150 KB in one file, as torch writes them"""

    def parts() -> Iterator[bytes]:
        rng = random.Random(7)
        side = 224
        pictures = [png(side, rng) for _ in range(16)]
        yield file_version(TORCH_WRITER)
        for index in range(2000):
            step = index // 4
            yield event(START + index, step, torch_image(f"samples/{index % 4}", side, pictures[index % 16]))

    _write(root / _name(), parts())


def make_seeds(root: Path) -> None:
    """5 runs × 1 tag × 2,000,000 steps, as torch writes them"""
    for seed in range(5):
        _write(root / f"seed={seed}" / _name(seed), _curves(TAGS[:1], 2_000_000, seed=seed))


def make_page(root: Path) -> None:
    """1,000 runs × 1 tag × 20,000 steps, as torch writes them: seeds of 100 settings"""
    for run in range(1000):
        place = (
            root / f"lr={10 ** -(run // 100 / 4 + 1):.2g}" / f"width={run // 10 % 10}" / f"seed={run % 10}"
        )
        _write(place / _name(run), _curves(TAGS[:1], 20_000, seed=run))


CORPORA: dict[str, Callable[[Path], None]] = {
    "A": make_a,
    "B": make_b,
    "C": make_c,
    "D": make_d,
    "E": make_e,
    "F": make_f,
    "runs100": _make_small(100),
    "runs1000": _make_small(1000),
    "runs10000": _make_small(10_000),
    "runs100000": _make_small(100_000, 60),
    "objects3000": _make_small(3000, 206),
    "images": make_images,
    "seeds": make_seeds,
    "page": make_page,
}


def corpus(name: str) -> Path:
    """The directory of a corpus, created if it does not exist."""
    root, stamp = DATA / name, DATA / f"{name}.stamp"
    if not stamp.exists() or stamp.read_text() != _recipe():
        shutil.rmtree(root, ignore_errors=True)
        CORPORA[name](root)
        stamp.write_text(_recipe())
    return root


@functools.cache
def _recipe() -> str:
    """A digest of what the corpora depend on: if it changes, they are created again."""
    sources = [Path(__file__), Path(__file__).parent / "bare" / "encode.cpp"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def describe(name: str) -> str:
    return (CORPORA[name].__doc__ or "").strip()


def size(name: str) -> int:
    """Bytes of a corpus."""
    return sum(path.stat().st_size for path in corpus(name).rglob("*tfevents*") if path.is_file())


# The check against the real writers.


def _payloads(path: Path) -> Iterator[bytes]:
    data, at = path.read_bytes(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        yield data[at + 12 : at + 12 + length]
        at += length + 16


def _same(kind: str, written: Path, made: Callable[[list[float]], bytes]) -> None:
    walls = [struct.unpack_from("<d", payload, 1)[0] for payload in _payloads(written)]
    if written.read_bytes() != made(walls):
        raise SystemExit(f"{kind}: the bytes made here differ from the bytes of the real writer ({written})")
    print(f"{kind}: the same bytes, {written.stat().st_size}")


def check(scratch: Path) -> None:
    """Write a few events with torch and TensorFlow; compare with what this module makes of the values."""
    import tensorflow as tf
    from torch.utils.tensorboard import SummaryWriter

    rows = [(step, TAGS[i]) for step in (0, 1, 127, 128, 16384, 3_000_000) for i in range(4)]
    codes = np.array([TAGS.index(tag) for _, tag in rows])
    steps = np.array([step for step, _ in rows])
    values = np.random.default_rng(0).standard_normal(len(rows)).astype(np.float32)

    def scalar_file(writer: bytes, tf2: bool) -> Callable[[list[float]], bytes]:
        return lambda walls: b"".join(
            [
                file_version(writer, walls[0]),
                scalars(TAGS, codes, steps, np.array(walls[1:]), values, tf2=tf2),
            ]
        )

    torch_writer = SummaryWriter(str(scratch / "torch"))
    for (step, tag), value in zip(rows, values, strict=True):
        torch_writer.add_scalar(tag, float(value), step)
    torch_writer.close()
    _same("torch scalars", next((scratch / "torch").iterdir()), scalar_file(TORCH_WRITER, False))

    with tf.summary.create_file_writer(str(scratch / "tf")).as_default() as writer:
        for (step, tag), value in zip(rows, values, strict=True):
            tf.summary.scalar(tag, value, step=step)
        writer.close()
    _same("TF2 scalars", next((scratch / "tf").iterdir()), scalar_file(TF_WRITER, True))

    with tf.summary.create_file_writer(str(scratch / "tfh")).as_default() as writer:
        tf.summary.histogram("block_00/kernel", np.linspace(-1, 2, 1000), step=3)
        writer.close()
    path = next((scratch / "tfh").iterdir())
    payload = list(_payloads(path))[1]
    start = payload.index(b"\x22\xd0\x05") + 3
    table = np.frombuffer(payload[start : start + 720], np.float64).reshape(30, 3)
    histogram = tf2_histogram("block_00/kernel", table)
    _same(
        "TF2 histograms",
        path,
        lambda walls: file_version(TF_WRITER, walls[0]) + event(walls[1], 3, histogram),
    )

    media = SummaryWriter(str(scratch / "media"))
    media.add_image("samples", np.zeros((3, 8, 8), np.uint8), 1)
    media.add_histogram_raw("h", 1.0, 3.0, 6, 14.0, 36.0, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 2)
    media.close()
    path = next((scratch / "media").iterdir())
    picture = list(_payloads(path))[1]
    picture = picture[picture.index(b"\x89PNG") :]
    limits = np.array([1.0, 2.0, 3.0])
    _same(
        "torch image and histogram",
        path,
        lambda walls: (
            file_version(TORCH_WRITER, walls[0])
            + event(walls[1], 1, torch_image("samples", 8, picture))
            + event(walls[2], 2, torch_histogram("h", limits, limits))
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpora", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*CORPORA, []], help="corpora to make (all)")
    parser.add_argument("--check", action="store_true", help="compare the encoders with torch and TensorFlow")
    arguments = parser.parse_args()
    if arguments.check:
        scratch = DATA / "check"
        shutil.rmtree(scratch, ignore_errors=True)
        check(scratch)
        return
    for name in arguments.names or CORPORA:
        began = time.perf_counter()
        corpus(name)
        took = time.perf_counter() - began
        print(f"{name:10} {size(name) / 1e6:8.1f} MB {took:6.1f} s  {describe(name)}")


if __name__ == "__main__":
    main()
