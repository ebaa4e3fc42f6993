"""Values that claim false sizes: problems, rows kept, no crash, nothing allocated for missing data."""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING, Any

import pytest
from protos import strings, tensor, value, write
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

import tbq

if TYPE_CHECKING:
    from pathlib import Path

HUGE = 1 << 60

TENSORS: dict[str, Any] = {
    "2^60 elements of a repeated value": tensor(1, (HUGE,), float_val=[1.0]),
    "2^60 elements of nothing": tensor(1, (HUGE,)),
    "a product past 2^63": tensor(1, (1 << 40, 1 << 40), float_val=[1.0]),
    "a product that wraps to a small number": tensor(1, (1 << 32, 1 << 32), float_val=[1.0]),
    "a negative size": tensor(1, (-3,), float_val=[1.0]),
    "the least size": tensor(1, (-(2**63),), float_val=[1.0]),
    "more data than the shape": tensor(1, (1,), float_val=[1.0, 2.0]),
    "less content than the shape": tensor(1, (4,), tensor_content=b"\0" * 12),
    "content of half an element": tensor(1, (1,), tensor_content=b"\0" * 3),
    "2^60 strings": tensor(7, (HUGE,), string_val=[b"x"]),
    "strings whose content lies": tensor(7, (2,), tensor_content=b"\x7f\x7fab"),
    "no dtype": tensor(0, (1,), float_val=[1.0]),
    "an unknown dtype": tensor(77, (1,), float_val=[1.0]),
    "a resource": tensor(20, ()),
    "65 dimensions": tensor(1, (1,) * 65, float_val=[1.0]),
}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_that_cannot_be_is_kept_as_its_bytes(name: str, tmp_path: Path) -> None:
    proto = TENSORS[name]
    log = tbq.open(write(tmp_path, value("x", "tensor", tensor=proto)))
    before = _peak()
    with pytest.warns(tbq.TbqWarning, match="tag 'x', step 0"):
        table = log.tensors().to_arrow()
    assert _peak() - before < 100 << 20
    assert table["shape"].to_pylist() == [None]
    assert table["data"].to_pylist() == [proto.SerializeToString()]
    problem = log.problems[-1]
    assert (problem.code, problem.tag, problem.offset) == ("bad_tensor", "x", 40)
    with pytest.raises(tbq.TbqError):
        log.tensor("x", on_error="ignore")
    with pytest.raises(tbq.TbqError):
        log.tensors(on_error="raise")


@pytest.mark.long
def test_many_claims_together_stay_within_a_budget(tmp_path: Path) -> None:
    claim = value("x", "tensor", tensor=tensor(1, (4 << 20,), float_val=[1.0]))  # 16 MiB each
    log = tbq.open(write(tmp_path, *[claim] * 100))
    before = _peak()
    table = log.tensors(on_error="ignore").to_arrow()
    assert _peak() - before < 600 << 20
    shapes = table["shape"].to_pylist()
    assert shapes[:16] == [[4 << 20]] * 16
    assert shapes[16:] == [None] * 84


VALUES: dict[str, tuple[str, Any, str]] = {
    "an image of no format": (
        "images",
        value("x", image=Summary.Image(encoded_image_string=b"nothing")),
        "bad_image",
    ),
    "image tensor without size": ("images", value("x", "images", tensor=strings((1,), b"7")), "bad_image"),
    "image tensor of floats": (
        "images",
        value("x", "images", tensor=tensor(1, (2,), float_val=[1, 2])),
        "bad_image",
    ),
    "a WAV that is none": (
        "audio",
        value("x", audio=Summary.Audio(encoded_audio_string=b"RIFFxxxxWAVE")),
        "bad_audio",
    ),
    "an audio tensor of shape [2, 3]": (
        "audio",
        value("x", "audio", tensor=strings((2, 3), *[b""] * 6)),
        "bad_audio",
    ),
    "a text that is a float": ("texts", value("x", "text", tensor=tensor(1, (), float_val=[1])), "bad_text"),
    "a text without a value": ("texts", value("x", "text"), "bad_text"),
    "invalid UTF-8": ("texts", value("x", "text", tensor=strings((), b"a\xff\xfeb")), "invalid_utf8"),
    "a histogram of shape [2, 2]": (
        "histograms",
        value("x", "histograms", tensor=tensor(1, (2, 2), float_val=[1])),
        "bad_histogram",
    ),
    "unlike limits and buckets": (
        "histograms",
        value("x", histo=HistogramProto(bucket_limit=[1, 2], bucket=[1])),
        "bad_histogram",
    ),
    "a PR curve of shape [5, 2]": (
        "pr_curves",
        value("x", "pr_curves", tensor=tensor(1, (5, 2), float_val=[1])),
        "bad_pr_curve",
    ),
    "a PR curve of 2^60 thresholds": (
        "pr_curves",
        value("x", "pr_curves", tensor=tensor(1, (6, HUGE), float_val=[1])),
        "bad_pr_curve",
    ),
    "a mesh without a tensor": ("meshes", value("x", "mesh"), "bad_tensor"),
    "hparams of garbage": ("hparams", value("x", "hparams", b"\xff\xff"), "bad_hparams"),
    "a layout of garbage": (
        "custom_scalars",
        value("x", "custom_scalars", tensor=strings((), b"\x12\xff")),
        "bad_custom_scalars",
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_cannot_be_decoded_is_a_problem(name: str, tmp_path: Path) -> None:
    kind, one, code = VALUES[name]
    log = tbq.open(write(tmp_path, one))
    with pytest.warns(tbq.TbqWarning):
        table = log.table(kind).to_arrow()
    table.validate(full=True)
    assert [problem.code for problem in log.problems] == [code]
    assert len(table) == (0 if kind == "hparams" else 1)


def test_invalid_utf8_is_replaced(tmp_path: Path) -> None:
    log = tbq.open(write(tmp_path, value("x", "text", tensor=strings((), b"a\xff\xfeb"))))
    assert log.text("x", on_error="ignore") == "a\ufffd\ufffdb"


def test_an_image_that_pillow_cannot_decode(tmp_path: Path) -> None:
    log = tbq.open(
        write(tmp_path, value("x", image=Summary.Image(encoded_image_string=b"\x89PNG\r\n\x1a\nrest")))
    )
    with pytest.raises(tbq.TbqError, match="cannot be decoded"):
        log.image("x")


def test_a_png_that_claims_a_gigapixel(tmp_path: Path) -> None:
    import struct
    import zlib

    head = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    log = tbq.open(write(tmp_path, value("x", image=Summary.Image(encoded_image_string=png))))
    assert log.images().to_arrow()["width"].to_pylist() == [60000]
    with pytest.raises(tbq.TbqError, match="cannot be decoded"):
        log.image("x")


def test_a_large_value_that_was_damaged_is_told_and_left_out(tmp_path: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 64
    image = Summary.Image(encoded_image_string=picture, width=3, height=4)
    write(tmp_path, *[value("x", image=image)] * 3)
    path = next(tmp_path.iterdir())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    log = tbq.open(tmp_path)
    with pytest.warns(tbq.TbqWarning, match="checksum"):
        table = log.images().to_arrow()
    assert table["step"].to_pylist() == [0, 2]
    assert table["data"].to_pylist() == [picture] * 2
    with pytest.raises(tbq.TbqError):
        log.image("x", step=1, on_error="ignore")
    with pytest.raises(tbq.TbqError):
        log.images(on_error="raise")


def test_a_file_that_changes_between_finding_and_reading(tmp_path: Path) -> None:
    from tbq.kinds.values import locate

    image = Summary.Image(encoded_image_string=b"GIF89a" + bytes(9000))
    write(tmp_path, *[value("x", image=image)] * 3)
    log = tbq.open(tmp_path)
    values = locate(log._reader, "images", on_error="ignore")
    path = next(tmp_path.iterdir())
    path.write_bytes(path.read_bytes()[:12000])
    assert len(values.arrow()) == 1
    assert {problem.code for problem in log.problems} == {"bad_payload"}
    path.unlink()
    assert len(locate(tbq.open(write(tmp_path, value("y", "text")))._reader, "images").arrow()) == 0
    assert len(values.arrow()) == 0


def test_thousands_of_small_values_in_one_large_record_are_read_in_time(tmp_path: Path) -> None:
    from tensorboard.compat.proto.event_pb2 import Event

    one = value("x", "text", tensor=strings((), b"words"))
    event = Event(
        wall_time=1, summary=Summary(value=[Summary.Value.FromString(one.SerializeToString())] * 20000)
    )
    log = tbq.open(write(tmp_path, event))
    assert len(log.texts()) == 20000


def test_long_names_repeated_on_many_rows_stay_within_a_budget(tmp_path: Path) -> None:
    from tensorboard.plugins.custom_scalar import layout_pb2

    chart = layout_pb2.Chart(
        multiline=layout_pb2.MultilineChartContent(tag=["t"] * 20000), title="n" * 100_000
    )
    layout = layout_pb2.Layout(category=[layout_pb2.Category(title="c", chart=[chart])])
    log = tbq.open(
        write(tmp_path, value("x", "custom_scalars", tensor=strings((), layout.SerializeToString())))
    )
    table = log.custom_scalars(on_error="ignore").to_arrow()
    assert len(table) == 20000
    assert table.nbytes < 300 << 20
    assert any(problem.code == "too_large" for problem in log.problems)
