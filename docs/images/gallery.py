"""Draws the pictures of docs/gallery.md again: `make gallery`. Each is made by the command that the page shows."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import tbq
from tbq.cli import main

PAGE = Path(__file__).parents[1] / "gallery.md"


def commands() -> list[list[str]]:
    """The arguments of each command of the page."""
    return [
        shlex.split(line)[1:]
        for line in re.findall(r"^\$ (tbq plot .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    ]


def draw(folder: Path) -> list[Path]:
    """Run the commands in an empty folder; returns the pictures."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        tbq.demo("runs")
        for arguments in commands():
            with contextlib.suppress(SystemExit):
                main(arguments)
    finally:
        os.chdir(before)
    return [folder / arguments[-1] for arguments in commands()]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for picture in draw(Path(folder)):
            target = Path(__file__).with_name("gallery") / picture.name
            target.write_bytes(picture.read_bytes())
            print(target.name, target.stat().st_size, file=sys.stderr)
