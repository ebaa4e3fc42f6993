"""Draws the pictures of docs/how-it-works.md again: `make gallery`. They are SVG, for light and dark screens."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

FOLDER = Path(__file__).with_name("drawings")
NUMBERS = Path(__file__).parents[1] / "speed.md"
WIDTH = 480  # so that letters are large enough on a telephone
STYLE = """\
text{font:14px system-ui,sans-serif;fill:#1c2733}.small{font-size:12px;fill:#5b6b7b}
.mid{text-anchor:middle}.end{text-anchor:end}
.box{fill:#e8eef6;stroke:#7d93ad}.ours{fill:#cfe3d6;stroke:#4f8f6b}.bad{fill:#f4d5cf;stroke:#b5533c}
.line{fill:none;stroke:#7d93ad;stroke-width:1.5}.new{fill:none;stroke:#2f7d54;stroke-width:2.5}
.old{fill:none;stroke:#b5533c;stroke-width:2;stroke-dasharray:4 4}.ground{fill:#fff;stroke:#d5dde6}
@media (prefers-color-scheme:dark){text{fill:#e6ebf1}.small{fill:#a3b1c0}.box{fill:#2b3746;stroke:#7d93ad}
.ours{fill:#24523a;stroke:#6fb58d}.bad{fill:#5d2b22;stroke:#d98a76}.new{stroke:#6fb58d}.old{stroke:#d98a76}
.ground{fill:#1a212b;stroke:#3a4654}}"""


def text(x: float, y: float, words: str, kind: str = "mid") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


def box(x: float, y: float, width: float, words: str, kind: str = "box", height: float = 34) -> str:
    """A box with words in its middle."""
    shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" class="{kind}"/>'
    return shape + (text(x + width / 2, y + height / 2 + 5, words) if words else "")


def line(points: list[tuple[float, float]], kind: str = "line") -> str:
    places = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{places}" class="{kind}"/>'


def arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """A straight line with a head."""
    angle = math.atan2(to_y - y, to_x - x)
    sides = [(to_x - 8 * math.cos(angle + turn), to_y - 8 * math.sin(angle + turn)) for turn in (0.4, -0.4)]
    return line([(x, y), (to_x, to_y)]) + line([sides[0], (to_x, to_y), sides[1]])


def file() -> tuple[int, list[str]]:
    """An event file, a record, an event."""
    parts = [text(20, 30, "event file", "")]
    parts += [box(20 + 74 * i, 42, 70, name) for i, name in enumerate(["record"] * 5)] + [
        text(408, 64, "…", "")
    ]
    parts += [line([(168, 76), (20, 112)]), line([(238, 76), (460, 112)])]
    sizes = (
        ("length", 90, "8 bytes"), ("CRC32C", 90, "4 bytes"),
        ("event", 170, "as many as the length says"), ("CRC32C", 90, "4 bytes"),
    )  # fmt: skip
    x = 20.0
    for name, width, size in sizes:
        parts.append(box(x, 112, width - 4, name, "ours" if name == "event" else "box"))
        parts.append(text(x + width / 2 - 2, 164, size, "small mid"))
        x += width
    parts += [line([(200, 172), (20, 200)]), line([(366, 172), (460, 200)])]
    parts += [box(20, 200, 100, "wall time"), box(124, 200, 70, "step")]
    parts.append(box(198, 200, 262, "summary: tag, value, metadata"))
    notes = [
        "a number: as torch logs a scalar",
        "a tensor: as TensorFlow 2 logs everything",
        "an image, audio, a histogram",
    ]
    parts += [text(204, 258 + 18 * i, note, "small") for i, note in enumerate(notes)]
    return 310, parts


def damage() -> tuple[int, list[str]]:
    """Records, damaged bytes, records."""
    parts = [box(20, 50, 76, "record"), box(100, 50, 76, "record"), box(180, 50, 100, "damage", "bad")]
    parts += [box(284, 50, 84, "record", "ours"), box(372, 50, 88, "record", "ours")]
    parts += [text(20, 32, "TensorBoard stops at the first wrong checksum", "small"), arrow(178, 36, 178, 48)]
    parts += [
        arrow(284, 118, 284, 88),
        text(284, 136, "tbq reads on at the next header whose checksum holds", "small mid"),
    ]
    return 156, [*parts, text(220, 102, "skipped, reported", "small mid")]


def restart() -> tuple[int, list[str]]:
    """A loss that two sessions logged."""

    def curve(first: int, last: int, shift: float) -> list[tuple[float, float]]:
        return [(50 + 0.5 * s, 170 - 130 * math.exp(-s / 300) + shift) for s in range(first, last + 1, 25)]

    parts = [
        line([(50, 30), (50, 180), (460, 180)]),
        text(460, 198, "step", "small mid"),
        text(20, 36, "loss", "small"),
    ]
    parts += [
        line(curve(0, 300, 0), "new"),
        line(curve(300, 500, -6), "old"),
        line(curve(300, 800, 6), "new"),
    ]
    parts += [text(200, 198, "300", "small mid"), text(300, 198, "500", "small mid")]
    parts += [line([(200, 176), (200, 184)]), line([(300, 176), (300, 184)])]
    notes = [
        "session 1 crashed at 500: its steps",
        "from 300 on are dropped, because",
        "session 2 logged them again",
    ]
    parts += [text(180, 48 + 16 * i, note, "small") for i, note in enumerate(notes)]
    return 212, [*parts, text(468, 114, "session 2, resumed from 300", "small end")]


def pipeline() -> tuple[int, list[str]]:
    """From bytes to tables."""
    stages = [
        ("bytes", "read in blocks; a file is split for threads", "box"),
        ("walk", "one pass over the records; the CPU checks the sums", "ours"),
        ("recognise", "same bytes as the last event of this tag? then no parsing", "ours"),
        ("columns", "one block of numbers per tag; no object per value", "ours"),
        ("Arrow", "shared with pandas, polars, DuckDB and files, not copied", "box"),
    ]
    parts = []
    for at, (name, note, kind) in enumerate(stages):
        y = 16 + 54 * at
        parts += [box(16, y, 92, name, kind), text(118, y + 21, note, "small")]
        if at:
            parts.append(arrow(62, y - 19, 62, y - 1))
    return 16 + 54 * len(stages), parts


def speeds() -> dict[str, float]:
    """The seconds of corpus A in docs/speed.md, by reader."""
    names, numbers = (
        [cell.strip() for cell in found.split("|")[2:-1]]
        for found in re.findall(r"^\| (?:corpus|A: ).*$", NUMBERS.read_text("utf-8"), re.MULTILINE)
    )
    return {name: float(number.split()[0]) for name, number in zip(names, numbers, strict=True)}


def speed() -> tuple[int, list[str]]:
    """Seconds of CPU to read 2,000,000 scalars."""
    found = dict(sorted(speeds().items(), key=lambda pair: pair[1]))
    parts = [text(16, 28, "2,000,000 scalars: seconds of CPU", "")]
    for at, (name, seconds) in enumerate(found.items()):
        y = 44 + 34 * at
        width = 200 * seconds / max(found.values())
        parts.append(text(196, y + 18, name, "small end"))
        parts.append(box(204, y, width, "", "ours" if name == "tbq" else "box", 26))
        parts.append(text(212 + width, y + 18, f"{seconds:g} s", "small"))
    return 54 + 34 * len(found), parts


def live() -> tuple[int, list[str]]:
    """Who reads a growing log."""
    parts = [box(16, 96, 96, "jobs"), arrow(114, 113, 138, 113), box(140, 96, 96, "event files")]
    parts += [arrow(238, 105, 262, 72), box(264, 50, 84, "live store", "ours")]
    parts += [arrow(238, 121, 262, 160), box(264, 146, 84, "lake", "ours")]
    for x, y, names in ((348, 67, ("follow", "watch", "serve")), (348, 163, ("DuckDB", "polars", "Spark"))):
        for at, name in enumerate(names):
            top = y - 47 + 32 * at
            parts += [arrow(x + 2, y, x + 26, top + 15), box(x + 28, top, 88, name, "box", 28)]
    parts.append(text(16, 224, "each reads only what was added since it last looked", "small"))
    return 238, parts


DRAWINGS = (file, damage, restart, pipeline, speed, live)


def drawings() -> Iterator[tuple[str, str]]:
    """The name and the text of each picture."""
    for draw in DRAWINGS:
        height, parts = draw()
        title = escape((draw.__doc__ or "").rstrip("."))
        yield f"{draw.__name__}.svg", "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
            f"<title>{title}</title><style>{STYLE}</style>",
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" class="ground"/>',
            *parts,
            "</svg>\n",
        ])  # fmt: skip


if __name__ == "__main__":
    for name, content in drawings():
        (FOLDER / name).write_text(content, encoding="utf-8")
        print(f"docs/images/drawings/{name}")
