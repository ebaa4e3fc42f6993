"""Records docs/images/watch.gif again, `make recording`: `tbq watch` in a terminal while three runs are written."""

from __future__ import annotations

import math
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import matplotlib
import pyte
from PIL import Image, ImageDraw, ImageFont

import tbq

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "fixtures"))
from terminal import Terminal

ROWS, COLUMNS = 27, 100
SECONDS, EVERY = 12.0, 0.5  # of the recording, and between two pictures
WIDTH, HEIGHT, SIZE = 8, 16, 13  # of a cell, and of its letters, in pixels
GROUND, INK = "#14161b", "#d6d8dd"
#: The names that pyte gives to the first colours of a terminal.
NAMED = {
    "default": INK, "black": "#000000", "red": "#cd3131", "green": "#0dbc79", "brown": "#e5e510", "blue": "#2472c8",
    "magenta": "#bc3fbc", "cyan": "#11a8cd", "white": "#e5e5e5", "brightblack": "#666666",
}  # fmt: skip


def train(folder: Path, rate: float, end: float) -> None:
    """Write a run until `end`, with a loss that falls faster for a larger rate."""
    step = 0
    with tbq.SummaryWriter(folder / f"lr={rate:g}", flush_secs=0.2) as writer:
        while time.monotonic() < end:
            fall = math.exp(-step * rate / 12)
            ripple = 1 + 0.06 * math.sin(step * 1.7) + 0.04 * math.sin(step * 0.31)
            writer.log(
                {"train/loss": 0.15 + 2.2 * fall * ripple, "val/accuracy": 0.95 - 0.85 * fall * ripple}, step
            )
            step += 1
            time.sleep(0.02)


def record(folder: Path) -> list[Image.Image]:
    """Pictures of the screen, one every `EVERY` seconds."""
    end = time.monotonic() + SECONDS
    jobs = [threading.Thread(target=train, args=(folder / "runs", rate, end)) for rate in (0.1, 0.3, 1.0)]
    for job in jobs:
        job.start()
    terminal = Terminal(
        "watch", "runs", "--interval", "0.4", rows=ROWS, columns=COLUMNS, cwd=folder, COLORTERM="truecolor"
    )
    pictures = []
    terminal.shows("train/loss")
    while time.monotonic() < end:
        due = time.monotonic() + EVERY
        terminal.until(lambda _, due=due: time.monotonic() >= due)
        pictures.append(picture(terminal._screen))
    terminal.type("q")
    terminal.end()
    for job in jobs:
        job.join()
    return pictures


def picture(screen: pyte.Screen) -> Image.Image:
    """The cells of a screen as an image."""
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    letters = {bold: ImageFont.truetype(fonts / name, SIZE) for bold, name in
               ((False, "DejaVuSansMono.ttf"), (True, "DejaVuSansMono-Bold.ttf"))}  # fmt: skip
    image = Image.new("RGB", (COLUMNS * WIDTH + 16, ROWS * HEIGHT + 16), GROUND)
    draw = ImageDraw.Draw(image)
    for row in range(ROWS):
        for column in range(COLUMNS):
            cell = screen.buffer[row][column]
            left, top = 8 + column * WIDTH, 8 + row * HEIGHT
            ink, ground = colour(cell.fg, INK), colour(cell.bg, GROUND)
            if cell.reverse:
                ink, ground = ground, ink
            if ground != GROUND:
                draw.rectangle((left, top, left + WIDTH - 1, top + HEIGHT - 1), ground)
            if "\u2800" <= cell.data <= "\u28ff":
                braille(draw, left, top, ord(cell.data) - 0x2800, ink)
            elif cell.data.strip():
                draw.text((left, top), cell.data, ink, letters[bool(cell.bold)])
    return image


def colour(name: str, default: str) -> str:
    """A colour of pyte for Pillow."""
    if name == "default":
        return default
    return NAMED.get(name) or f"#{name}"


def braille(draw: ImageDraw.ImageDraw, left: int, top: int, dots: int, ink: Any) -> None:
    """The dots of a braille character, which monospaced fonts often lack."""
    places = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
    for bit, (across, down) in enumerate(places):
        if dots >> bit & 1:
            x, y = left + 1 + across * 4, top + 1 + down * 4
            draw.rectangle((x, y, x + 1, y + 1), ink)


def save(pictures: list[Image.Image], name: str) -> None:
    """Write the pictures as a GIF beside this file."""
    frames = [each.quantize(48) for each in pictures]
    target = Path(__file__).with_name(name)
    frames[0].save(
        target, save_all=True, append_images=frames[1:], duration=int(EVERY * 1000), loop=0, optimize=True
    )
    print(target.name, len(frames), "pictures,", target.stat().st_size, "bytes", file=sys.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        save(record(Path(folder)), "watch.gif")
