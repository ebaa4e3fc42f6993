"""Runs of zeros and holes of sparse files are skipped fast, and to the same place as a search byte by byte."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any

import eventfile as ef
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from tables import decode

if TYPE_CHECKING:
    from pathlib import Path

Piece = tuple[str, int]  # bytes of a kind: "records", "zeros", "hole" or "noise", and how many


def _piece(kind: str, count: int) -> bytes:
    if kind == "records":
        return b"".join(ef.record(ef.scalar("loss", step, step / 3, ef.WALL + step)) for step in range(count))
    if kind == "noise":
        return bytes((7 * i + count) % 255 + 1 for i in range(count))
    return bytes(count)


pieces = st.lists(
    st.one_of(
        st.tuples(st.just("records"), st.integers(1, 4)),
        st.tuples(st.just("zeros"), st.integers(1, 40)),
        st.tuples(st.just("zeros"), st.sampled_from([255, 4096, 5000, 65536, 300_000])),
        st.tuples(st.just("hole"), st.sampled_from([4096, 65536, 1 << 20, 3 << 20])),
        st.tuples(st.just("noise"), st.integers(1, 30)),
    ),
    min_size=1,
    max_size=8,
)


def _write(path: Path, content: list[Piece], sparse: bool) -> bytes:
    """The file with its holes as holes, if the file system has them, or as stored zeros; returns its bytes."""
    data = b""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        for kind, count in content:
            piece = _piece(kind, count)
            data += piece
            if kind == "hole" and sparse:
                file.seek(count, os.SEEK_CUR)
            else:
                file.write(piece)
        file.truncate(len(data))
    return data


def _seen(path: Path, **options: Any) -> Any:
    found = decode([path], **options)
    report = found.files[0]
    faults = [(fault.code, fault.offset, fault.length) for fault in report.faults]
    return (
        found.rows,
        report.state,
        report.records,
        report.lost_bytes,
        report.truncated,
        report.resume,
        faults,
    )


def _records_slowly(data: bytes) -> int:
    """How many records there are: each start is tried, whatever lies before it."""
    at, count = 0, 0
    while at + 16 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        if length <= len(data) - at - 16:
            end = at + 16 + length
            if ef.record(data[at + 12 : end - 4]) == data[at:end]:
                at, count = end, count + 1
                continue
        at += 1
        if data[at : at + 64] == bytes(64):  # no record here has 64 zeros: the next one begins after them
            at += len(data[at:]) - len(data[at:].lstrip(b"\0")) - 12
    return count


@pytest.mark.long
@given(
    content=pieces,
    block=st.sampled_from([13, 4096, 1 << 16, 1 << 18]),
    split=st.sampled_from([50_000, 1 << 20]),
)
@examples(150)
def test_holes_and_zeros_give_what_a_slow_search_gives(
    folder: Path, content: list[Piece], block: int, split: int
) -> None:
    plain, sparse = folder / "events.out.tfevents.plain", folder / "events.out.tfevents.sparse"
    data = _write(plain, content, sparse=False)
    assert _write(sparse, content, sparse=True) == data == sparse.read_bytes()
    if block == 13 and len(data) > 200_000:
        block = 4096
    want = _seen(plain)
    assert want[2] == _records_slowly(data)
    assert _seen(sparse) == want
    assert _seen(sparse, block=block) == _seen(plain, block=block) == want
    assert _seen(sparse, threads=3, split=split) == _seen(plain, threads=3, split=split) == want


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="this system does not tell where holes are")
def test_a_hole_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    with path.open("wb") as file:
        file.write(_piece("records", 3))
        file.seek(1 << 40, os.SEEK_CUR)
        try:
            file.write(_piece("records", 2))
        except OSError:
            pytest.skip("this file system does not take a file of a terabyte")
    if os.stat(path).st_blocks * 512 > 1 << 20:
        pytest.skip("this file system has no holes")
    found = decode([path], threads=2)
    assert len(found.rows) == 5 and found.files[0].bytes_read < 1 << 22
    assert [(fault.code, fault.length >> 40) for fault in found.files[0].faults] == [("zeros", 1)]
