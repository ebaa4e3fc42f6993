"""Tables for people: a few rows in a terminal or a notebook, with short numbers, and times as dates."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tbq.arrow import Arrow, joined, part
from tbq.export.cells import cell_rows, numeric_columns
from tbq.export.html import table_html
from tbq.export.options import ExportOptions
from tbq.labels import labels
from tbq.states import GLYPHS
from tbq.text import GAP, counted, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 15  # rows of a repr
TERMINAL_ROWS = 60
_HTML_COLUMNS = 30
_MAX_TEXT = 60
_MIN_TEXT = 20
_MIN_GROUP = 40  # a group is a condition: a shared part that is missing would mislead
# JupyterLab would align text to the right and never wrap a long name, which pushes everything else out of sight.
_TEXT_STYLE = "text-align:left;max-width:30em;overflow-wrap:anywhere"
_NAMES = ("run", "group", "tag")  # columns whose cells must differ if their names do
_SIGNS = {f"{shape} " for shape in GLYPHS.values()}  # before the names of runs in listings


@dataclass(frozen=True)
class Excerpt:
    """The visible part of a table: its first and last rows, and the row after the gap."""

    table: Arrow
    gap: int | None

    @classmethod
    def of(cls, table: Arrow, rows: int) -> Excerpt:
        if table.num_rows <= rows:
            return cls(table, None)
        tail = rows // 3
        parts = [part(table, 0, rows - tail), part(table, table.num_rows - tail, tail)]
        return cls(joined(parts), rows - tail)


def drawn(table: Arrow, rows: int, width: int, digits: int | None = None) -> tuple[list[str], int, str]:
    """The lines of a table, its heads first, with as many columns as fit, the number of omitted columns, and an
    example of a name that lost what all names share.

    rich would draw the same, but importing its tables and consoles costs half as much as everything else in `tbq ls`.
    """
    from rich.cells import cell_len

    shown = Excerpt.of(table, rows)
    rows_of_text = list(cell_rows(shown.table, ExportOptions(digits=digits), dates=True))
    cells = [[_cell(cell) for cell in row] for row in rows_of_text]
    heads = [_cell(name) for name in shown.table.column_names]
    numeric = numeric_columns(shown.table, dates=True)
    wanted = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
    least = [_MIN_GROUP if name == "group" else _MIN_TEXT for name in shown.table.column_names]
    widths = _narrowed(wanted, numeric, least, width)
    cells = [[shortened(cell, room) for cell, room in zip(row, widths, strict=True)] for row in cells]
    example = ""
    for i, name in enumerate(shown.table.column_names):
        names = [printable(row[i] or "") for row in rows_of_text] if name in _NAMES else []
        if any(cell_len(each) > widths[i] for each in names):
            signs = [each[:2] if each[:2] in _SIGNS else "" for each in names]
            names = [each.removeprefix(sign) for sign, each in zip(signs, names, strict=True)]
            short = labels(names, widths[i] - max(map(len, signs)), cell_len)
            for row, sign, label in zip(cells, signs, short, strict=True):
                row[i] = sign + label
            widths[i] = max(cell_len(heads[i]), *(cell_len(row[i]) for row in cells))
            if name == "run" and short[0] != names[0] and GAP not in short[0]:
                example = f"{short[0]} is {names[0]}"
    fitting = _fitting(widths, width)
    omitted = max(len(heads) - fitting, 0)
    if shown.gap is not None:
        cells.insert(shown.gap, [GAP] * len(heads))
    lines = [[*row[:fitting], *[GAP] * (omitted > 0)] for row in (heads, *cells)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    rule = "─" * min(sum(widths) + 2 * len(widths) - 1, width)
    head, *rest = (_line(row, widths, numeric, width) for row in lines)
    return [head, rule, *rest], omitted, example


def _line(cells: list[str], widths: list[int], numeric: list[bool], room: int) -> str:
    from rich.cells import cell_len, set_cell_size

    padded = []
    for cell, width, right in zip(cells, widths, numeric, strict=False):
        space = " " * (width - cell_len(cell))
        padded.append(space + cell if right else cell + space)
    line = "  ".join(padded).rstrip()
    return line if cell_len(line) <= room else set_cell_size(line, room - 1) + GAP


def text(table: Arrow, kind: str, width: int = 100) -> str:
    """The table as `repr` shows it."""
    lines, omitted, example = drawn(table, ROWS, width)
    return "\n".join([*filter(None, lines), caption(table, kind, omitted, example)])


def page(table: Arrow, kind: str, beside: Callable[[Arrow, int, int], str] | None = None) -> str:
    """The table as a notebook shows it; `beside` returns what follows a cell of the visible rows."""
    omitted = max(table.num_columns - _HTML_COLUMNS, 0)
    shown = Excerpt.of(table.select(list(range(table.num_columns - omitted))), ROWS)
    follows = None if beside is None else partial(beside, shown.table)
    parts = list(table_html(shown.table, beside=follows, dates=True))
    if shown.gap is not None:
        parts.insert(1 + shown.gap, f"<tr>{f'<td>{GAP}</td>' * shown.table.num_columns}</tr>\n")
    drawn = "".join(parts)
    for cell in ("th", "td"):
        drawn = drawn.replace(f"<{cell}>", f"<{cell} style='{_TEXT_STYLE}'>")
    return f"<div>{drawn}<p>{html.escape(caption(table, kind, omitted))}</p></div>"


def caption(table: Arrow, kind: str, omitted: int = 0, example: str = "") -> str:
    """One line: the kind, the size, the number of omitted columns, and what a short name stands for."""
    more = f", {omitted:,} not shown" if omitted else ""
    short = f"; {example}" if example else ""
    return f"{kind}: {counted(table.num_rows, 'row')} × {counted(table.num_columns, 'column')}{more}{short}"


def _narrowed(widths: list[int], numeric: list[bool], least: list[int], room: int) -> list[int]:
    """The widths, with text columns narrowed to `least`, the widest first, until all columns fit or none can shrink."""
    widths = list(widths)
    while sum(widths) + 2 * len(widths) > room:
        wide = [i for i, number in enumerate(numeric) if not number and widths[i] > least[i]]
        if not wide:
            break
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _fitting(widths: list[int], room: int) -> int:
    """How many columns fit, two spaces apart, with room for the mark of omitted columns; at least one."""
    used, fitting = 0, 0
    for width in widths:
        used += width + 2
        if used > room - (0 if fitting == len(widths) - 1 else len(GAP) + 2):
            break
        fitting += 1
    return max(fitting, 1)


def _cell(text: str | None) -> str:
    return printable(shortened(text or "", _MAX_TEXT))
