"""Hyperparameters against a metric in a terminal: one line per run, the best first, with a bar for the metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.numbers import aligned, number
from tbq.plot.cells import Line, Span, cell_len, clipped, filled, fitted
from tbq.plot.colours import viridis
from tbq.text import counted

if TYPE_CHECKING:
    from tbq.plot.hyper import Trials

_BAR = 16  # cells
_WIDEST = 14  # cells of a hyperparameter
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def lines_of_trials(trials: Trials, room: int, height: int | None) -> list[Line]:
    """A table as wide as the terminal; a line below it names hyperparameters that do not fit."""
    order = np.argsort(trials.metric, kind="stable").tolist()
    if not trials.ascending:
        order = order[::-1]
    more = 0
    if height is not None and len(order) > height - 3:
        more = len(order) - max(height - 3, 1)
        order = order[: max(height - 3, 1)]
    values = aligned([number(float(trials.metric[i])) for i in order])
    widest = max(cell_len(trials.label), *map(len, values))
    title = clipped(trials.label, room // 3)
    widest = min(widest, max(room // 3, len(values[0])))
    columns: list[tuple[str, list[str], int]] = []
    used = widest + 2 + _BAR + 2
    hidden = []
    for name, cells in trials.settings.items():
        texts = [clipped(_text(cells[i]), _WIDEST) for i in order]
        size = max(min(cell_len(name), _WIDEST), *map(cell_len, texts))
        if used + size + 2 > room:
            hidden.append(name)
            continue
        columns.append((clipped(name, _WIDEST), texts, size))
        used += size + 2
    names = [trials.runs[i] for i in order] if room - used >= 8 else []
    heads = [Span(fitted(title, widest, right=True) + " " * (_BAR + 4), bold=True)]
    heads += [Span(fitted(name, size) + "  ", bold=True) for name, _, size in columns]
    out: list[Line] = [filled([*heads, *([Span("run", bold=True)] if names else [])], room)]
    shade = trials.shade
    for row, i in enumerate(order):
        line = [Span(fitted(values[row], widest, right=True) + "  ")]
        line += [Span(_bar(float(shade[i])), viridis(0.2 + 0.8 * float(shade[i]))), Span("  ")]
        line += [Span(fitted(texts[row], size) + "  ") for _, texts, size in columns]
        if names:
            line.append(Span(clipped(names[row], room - used), dim=True))
        out.append(filled(line, room))
    if more:
        out.append([Span(f"… and {counted(more, 'more run')}", dim=True)])
    if hidden:
        out.append([Span(clipped(f"no room for {', '.join(hidden)}", room), dim=True)])
    return out


def _bar(share: float) -> str:
    """A bar: a sliver for the smallest value, the full width for the largest."""
    eighths = 1 + round(min(max(share, 0.0), 1.0) * (_BAR * 8 - 1))
    return f"{'█' * (eighths // 8) + _EIGHTHS[eighths % 8]:<{_BAR}}"


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return number(value) if isinstance(value, int | float) else str(value)
