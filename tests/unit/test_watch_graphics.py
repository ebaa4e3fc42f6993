"""Images that terminals draw themselves: what is sent is the image."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

pytest.importorskip("PIL")
pytest.importorskip("textual")
from PIL import Image

from tbq.dashboard.graphics import Graphics, Protocol, drawing, understood
from tbq.dashboard.sixel import sixel
from tbq.plot.cells import width

PROTOCOLS: list[Protocol] = ["kitty", "iterm2", "sixel"]


def encoded(image: Image.Image) -> bytes:
    data = io.BytesIO()
    image.save(data, "png")
    return data.getvalue()


def decoded(sequence: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The pixels of sixels, as a terminal reads them, in hundredths; -1 where nothing is drawn."""
    head = re.fullmatch(r'\x1bP0;1q"1;1;(\d+);(\d+)(.*)\x1b\\', sequence)
    assert head
    pixels = np.full((int(head[2]), int(head[1]), 3), -1, np.int64)
    palette: dict[int, list[int]] = {}
    x = top = 0
    colour = -1
    for token in re.finditer(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|([$-])", head[3]):
        if token[1]:
            colour = int(token[1])
            if token[2]:
                palette[colour] = [int(token[i]) for i in (2, 3, 4)]
        elif token[8]:
            x, top = 0, top + (6 if token[8] == "-" else 0)
        else:
            bits = ord(token[6] or token[7]) - 63
            count = int(token[5] or 1)
            for row in range(6):
                if bits >> row & 1:
                    pixels[top + row, x : x + count] = palette[colour]
            x += count
    return pixels


@st.composite
def images(draw: st.DrawFn) -> Image.Image:
    wide, high, seed = draw(st.integers(1, 40)), draw(st.integers(1, 20)), draw(st.integers(0, 1 << 30))
    random = np.random.default_rng(seed)
    colours = random.integers(0, 256, (draw(st.integers(1, 100)), 3), np.uint8)
    return Image.fromarray(colours[random.integers(0, len(colours), (high, wide))])


@examples(60)
@given(image=images())
def test_sixels_are_the_image(image: Image.Image) -> None:
    want = (np.asarray(image).astype(np.int64) * 100 + 127) // 255
    assert np.abs(decoded(sixel(image)) - want).max() <= 2  # colours that hardly differ may be one


@examples(60)
@given(
    image=images(),
    room=st.integers(0, 90),
    height=st.integers(0, 200),
    protocol=st.sampled_from(PROTOCOLS),
    cell=st.tuples(st.integers(1, 30), st.integers(1, 60)),
)
def test_a_drawing_fits(
    image: Image.Image, room: int, height: int, protocol: Protocol, cell: tuple[int, int]
) -> None:
    made = drawing(encoded(image), room, height, Graphics(protocol, cell))
    if not room or not height:
        assert made is None
        return
    assert made is not None
    assert 1 <= len(made.lines) <= height
    assert {width(line) for line in made.lines} == {width(made.lines[0])}
    assert 1 <= width(made.lines[0]) <= room
    if protocol == "sixel":
        high, wide, _ = decoded(made.sequence).shape
        assert high <= len(made.lines) * cell[1] and wide <= width(made.lines[0]) * cell[0]
        return
    pieces = re.findall(r"m=[01];([^\x1b]*)" if protocol == "kitty" else r":([^\x07]*)\x07", made.sequence)
    sent = Image.open(io.BytesIO(base64.b64decode("".join(pieces))))
    if image.width * cell[0] <= 1600 and sent.size == image.size:
        assert np.array_equal(np.asarray(sent.convert("RGB")), np.asarray(image))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("data", [b"", b"\x89PNG", b"GIF89a" + bytes(40)])
def test_what_is_not_an_image(protocol: Protocol, data: bytes) -> None:
    assert drawing(data, 20, 10, Graphics(protocol)) is None


@examples(200)
@given(
    answer=st.one_of(
        st.binary(max_size=40),
        st.text("\x1b[?;c4P>|kity_Gi=31;OK\\60t", max_size=60).map(str.encode),
    )
)
def test_any_answer(answer: bytes) -> None:
    found = understood(answer, {})
    assert found is None or (found.protocol in PROTOCOLS and min(found.cell) > 0)


def test_a_cell_of_no_pixels_and_a_name_that_came_through_ssh() -> None:
    assert understood(b"\x1b[6;0;0t\x1b[?62;4c", {}) == Graphics("sixel")
    assert understood(b"\x1b[?62c", {"LC_TERMINAL": "iTerm2"}) == Graphics("iterm2")
