"""Figures as files: png, svg, pdf, pgf or html by extension, written like every output of tbq."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.arguments import StrPath, bad
from tbq.arguments import path as _path
from tbq.errors import UsageError
from tbq.export.target import check_free, output
from tbq.plot.backend import METADATA, matplotlib
from tbq.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf", "pgf", "html")
VECTORS = ("svg", "pdf", "pgf", "html")


def format_of(path: StrPath, format: str | None = None) -> str:
    """The format of a picture, by name or by the extension of its path."""
    ending = format or Path(_path("path", path)).suffix.removeprefix(".").lower()
    if ending not in FORMATS:
        if format is not None or not ending:
            raise bad(
                "format", format or path, f"one of {', '.join(FORMATS)}, or a path with such an extension"
            )
        raise UsageError(f"tbq cannot draw .{ending} files", hint=f"want one of {', '.join(FORMATS)}")
    return ending


def save(
    draw: Callable[[bool], Figure], path: StrPath, *, format: str | None, force: bool, title: str | None
) -> str:
    """Write the figure of `draw`, which gets whether the file holds vectors. Draws only if the file can be written."""
    ending = check(path, force, format)
    return write(draw(ending in VECTORS), path, format=ending, force=force, title=title or "")


def check(path: StrPath, force: bool, format: str | None = None) -> str:
    """The format; raises, before reading anything, if the file cannot be written."""
    ending = format_of(path, format)
    matplotlib()
    check_free(path, force)
    return ending


def write(
    figure: Figure, path: StrPath, *, format: str | None = None, force: bool = False, title: str = ""
) -> str:
    """Write a figure; the same figure gives the same bytes."""
    data = _WRITERS[format_of(path, format)](figure, title)
    with output(path, force) as stream:
        stream.write(data)
    return str(path)


def _saved(figure: Figure, format: str, **options: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format=format, metadata=METADATA.get(format), **options)
    return out.getvalue()


def _png(figure: Figure, _title: str) -> bytes:
    return _saved(figure, "png", dpi="figure")


def _pdf(figure: Figure, _title: str) -> bytes:
    return _saved(figure, "pdf")


def _svg(figure: Figure, _title: str) -> bytes:
    """SVG without matplotlib's comments, which repeat every name: the glyph paths already draw the names."""
    drawing = _COMMENT.sub("", _saved(figure, "svg").decode("utf-8"))
    return shorter(drawing).encode("utf-8")


def _pgf(figure: Figure, _title: str) -> bytes:
    from tbq.plot.pgf import pgf

    return pgf(figure).encode("utf-8")


def _html(figure: Figure, title: str) -> bytes:
    """One self-contained page: the SVG, as wide as the window allows."""
    drawing = _svg(figure, title).decode("utf-8")
    drawing = drawing[drawing.index("<svg") :]
    shown = html.escape(printable(title) or "tbq plot")
    ground = "#{:02x}{:02x}{:02x}".format(*(round(255 * part) for part in figure.get_facecolor()[:3]))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{shown}</title>\n'
        f"<style>body {{ margin: 0; background: {ground}; }} "
        f"svg {{ display: block; margin: 16px auto; max-width: 96vw; height: auto; }}</style>\n"
        f"</head>\n<body>\n{drawing}</body>\n</html>\n"
    ).encode()


_WRITERS: dict[str, Callable[[Figure, str], bytes]] = {
    "png": _png, "svg": _svg, "pdf": _pdf, "pgf": _pgf, "html": _html,
}  # fmt: skip

_COMMENT = re.compile(r"[ \t]*<!--.*?-->\n?", re.DOTALL)
_DATA = re.compile(r' d="(M [^"]{200,}?)"')
_FAR = 1e6
_PART = re.compile(r"([MLz]) ?([-\d.e]+)? ?([-\d.e]+)?\s*")


def shorter(svg: str) -> str:
    """The SVG with the data of long paths as differences in hundredths of a point: a third of the size.

    >>> shorter(' d="' + "M 10 10 " + "L 12.345678 9.5 " * 20 + '"')[:26]
    ' d="M10 10l2.35-.5 0 0 0 0'
    """
    return _DATA.sub(lambda match: f' d="{_relative(match[1])}"', svg)


def _relative(data: str) -> str:
    """A path of lines with coordinates as whole hundredths, each relative to the last; other paths stay unchanged."""
    out: list[str] = []
    at = x = y = 0
    last = ""
    while at < len(data):
        part = _PART.match(data, at)
        if part is None or (part[1] != "z" and part[3] is None):
            return data  # a curve
        at = part.end()
        if part[1] == "z":
            out.append("z")
            last = ""
            continue
        to_x, to_y = _in_hundredths(part[2]), _in_hundredths(part[3])
        if part[1] == "M" or not last:
            out.append(f"{part[1]}{_hundredths(to_x)} {_hundredths(to_y)}")
            last = "M"
        else:
            first, second = _hundredths(to_x - x), _hundredths(to_y - y)
            joint = "l" if last == "M" else "" if first.startswith("-") else " "
            out.append(f"{joint}{first}{'' if second.startswith('-') else ' '}{second}")
            last = "L"
        x, y = to_x, to_y
    return "".join(out)


def _in_hundredths(number: str) -> int:
    """Whole hundredths, clamped: viewers cannot handle points far outside, such as 1e308 on an axis from 0 to 1."""
    return round(min(max(float(number), -_FAR), _FAR) * 100)


def _hundredths(value: int) -> str:
    sign, size = "-" if value < 0 else "", abs(value)
    part = f"{size % 100:02d}".rstrip("0")
    before = str(size // 100) if size >= 100 or not part else ""
    return f"{sign}{before}{'.' + part if part else ''}"
