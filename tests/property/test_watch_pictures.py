"""Images and histograms of any content fit into the available space, or are described in words."""

from __future__ import annotations

import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tbq.kinds.histograms import Histogram
from tbq.plot.blocks import half_blocks, histogram_bars
from tbq.plot.cells import plain, width

EDGES = st.lists(st.floats(allow_nan=False), min_size=1, max_size=12).map(sorted)
COUNTS = st.floats(0, 1e300) | st.sampled_from([0.0, 1.0])


def png(columns: int, rows: int) -> bytes:
    out = io.BytesIO()
    pixels = np.arange(columns * rows * 3, dtype=np.uint8).reshape(rows, columns, 3)
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


@given(
    columns=st.integers(1, 40),
    rows=st.integers(1, 40),
    room=st.integers(1, 30),
    height=st.integers(1, 12),
    cut=st.integers(0, 400) | st.none(),
    flip=st.integers(0, 400) | st.none(),
)
def test_an_image_fits(
    columns: int, rows: int, room: int, height: int, cut: int | None, flip: int | None
) -> None:
    data = bytearray(png(columns, rows)[:cut])
    if flip is not None and data:
        data[flip % len(data)] ^= 1
    lines = half_blocks(bytes(data), "4 × 4 png", room, height)
    if cut is None and flip is None:
        assert len(lines) <= height
        assert max(map(width, lines)) <= room
        assert set(plain(lines)) <= {"▀", "\n"}
        first = lines[0][0]
        assert first.colour is not None
        assert first.colour.startswith("#")
    else:
        assert lines


@given(edges=EDGES, data=st.data(), room=st.integers(1, 50), height=st.integers(1, 12))
def test_a_histogram_fits(edges: list[float], data: st.DataObject, room: int, height: int) -> None:
    left, right = np.array(edges[:-1]), np.array(edges[1:])
    counts = np.array(data.draw(st.lists(COUNTS, min_size=len(left), max_size=len(left))), dtype=np.float64)
    lines = histogram_bars(Histogram(left, right, counts), room, height)
    assert len(lines) <= max(height, 1)


def test_the_bars_of_a_histogram() -> None:
    lines = histogram_bars(Histogram(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([1.0, 3.0])), 20, 6)
    assert plain(lines).splitlines() == [
        "          ██████████",
        "          ██████████",
        "▃▃▃▃▃▃▃▃▃▃██████████",
        "████████████████████",
        "0──────────────────2",
        "4 values, 0 to 2, me",
    ]
