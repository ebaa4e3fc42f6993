"""The lines of the screen around the charts: header, list of runs, footer, help. Made from the model alone."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from tbq.dashboard.keys import KEYS, Key
from tbq.dashboard.model import KINDS, Model
from tbq.dashboard.runs import SIGNS, UNREAD, ShownRun, Sign, tags_of
from tbq.following.states import STATES, State
from tbq.labels import labels
from tbq.numbers import ago, aligned, number, rate, sized
from tbq.plot.cells import Line, Span, beside, cell_len, clipped, filled, fitted, width
from tbq.plot.colours import AMBER, RED
from tbq.text import counted

_CARD_WIDTH, _CARD_HEIGHT = 36, 10  # the smallest size of a chart, if there is room
_LEAST = 7  # cells of a column of values, so that it does not move with each value


class Layout(NamedTuple):
    """The division of the screen: the width of the list of runs, and the columns and rows of cards."""

    list_width: int
    columns: int
    rows: int


def layout(model: Model, room: int, height: int) -> Layout:
    """Divide the screen; `height` excludes header and footer.

    >>> layout(Model("runs"), 80, 22)
    Layout(list_width=28, columns=1, rows=1)
    """
    if model.wide:
        return Layout(room, 0, 0)
    if model.full:
        return Layout(0, 1, 1)
    longest = max((cell_len(model.labels[name]) for name in model.listed[:200]), default=0)
    wanted = min(max(longest + 20, 28), 48)
    list_width = min(wanted, max(room * 42 // 100, 22))
    count = max(len(model.tags), 1)
    most_rows = max(height // _CARD_HEIGHT, 1)
    columns = min(
        max((room - list_width) // _CARD_WIDTH, 1), -(-count // most_rows)
    )  # prefer rows of charts to columns
    rows = min(most_rows, -(-count // columns))
    return Layout(list_width, columns, rows)


def header(model: Model, room: int) -> Line:
    """The directory, the number of runs in each state, and the display settings."""
    states = list(model.states.values())
    left: Line = [Span("tbq watch ", bold=True), Span(clipped(model.path, max(room // 3, 10)))]
    right = _settings(model)
    counts = _counts(states, words=True)
    if width([*left, *counts, *right]) > room:
        counts = _counts(states, words=False)
    clock = time.strftime("%H:%M:%S", time.localtime(model.clock()))
    if width([*left, *counts, *right]) + 12 <= room:
        right = [*right, Span(f"  {clock}", dim=True)]
    if width([*left, *counts, *right]) > room:
        left = left[1:]
    return beside([*left, *counts], [*right, Span(" ")], room)


def _counts(states: Sequence[State], words: bool) -> Line:
    line: Line = []
    for state in STATES:
        count = states.count(state)
        if count:
            sign = SIGNS[state]
            line += [Span("  "), Span(sign.shape, sign.colour), Span(f" {count:,}{f' {state}' * words}")]
    return line


def _settings(model: Model) -> Line:
    line: Line = []

    def add(text: str, colour: str | None = None) -> None:
        line.append(Span(f"  {text}", colour))

    if model.problems:
        add(f"! {counted(len(model.problems), 'problem')}", AMBER)
    if model.left or not model.loaded:
        add(f"reading {sized(model.left)} …" if model.left else "reading …", AMBER)
    if model.tag_filter:
        total = len(tags_of(model.runs.values(), model.kind))
        add(f"/{clipped(model.tag_filter, 20)} ({len(model.tags):,} of {total:,})", AMBER)
    if model.kind == "scalars":
        if model.smooth:
            add(f"smooth {model.smooth:g}")
        if model.log:
            add("log")
        if model.outliers:
            add("all values")
        if model.zoom:
            add("zoom", AMBER)
        add(f"x: {model.axis}")
    else:
        add(model.kind)
    page, pages = model.page
    if pages > 1 and not model.wide:
        add(f"{page}/{pages}")
    return line


def run_list(model: Model, room: int, height: int, top: int) -> list[Line]:
    """The list of runs from number `top` on, with its title: state, name, last step, last values."""
    tags = model.value_tags[:1]
    if model.wide:
        tags = list(dict.fromkeys([*model.value_tags, *tags_of(model.runs.values())]))
    columns = _Columns(model, room, tags, model.wide)
    lines = [
        columns.title(),
        *(columns.row(model.runs[name]) for name in model.listed[top : top + height - 1]),
    ]
    return [filled(line, room) for line in lines[:height]] + [
        filled([], room) for _ in range(height - len(lines))
    ]


class _Columns:
    """The widths of the list's columns: columns without room are left out, the name last."""

    def __init__(self, model: Model, room: int, tags: Sequence[str], wide: bool) -> None:
        self.model, self.room, self.tags, self.wide = model, room, list(tags), wide
        runs = [model.runs[name] for name in model.listed]
        self.letters = model.letters
        self.drawn = set(model.drawn)
        self.step = max([len(f"{run.step:,}") for run in runs if run.step is not None], default=1)
        self.texts = {tag: self._texts(runs, tag) for tag in self.tags}
        self.values = {
            tag: max(max(map(len, texts.values()), default=0), _LEAST, min(cell_len(tag), 16) if wide else 0)
            for tag, texts in self.texts.items()
        }
        self.more = 20 if wide else 0  # rate and age
        self.name = room - 3 - self.step - 2 - self.more - sum(each + 1 for each in self.values.values())
        while self.name < 12 and self.tags and wide:
            self.name += self.values.pop(self.tags.pop()) + 1
        if self.name < 8:
            self.values, self.tags = {}, []
            self.name = max(room - 3 - self.step - 3 - self.more, 4)
        short = labels(list(model.labels.values()), self.name, cell_len)
        self.labels = dict(zip(model.labels, short, strict=True))

    def title(self) -> Line:
        model = self.model
        total, shown = len(model.runs), len(model.listed)
        count = f"{shown:,}" if shown == total else f"{shown:,} of {total:,}"
        left: Line = [
            Span("─ ", dim=True),
            Span(f"runs ({count})", bold=True),
            Span(f" by {model.sort} ", dim=True),
        ]
        if model.run_filter:
            left.append(Span(f"/{clipped(model.run_filter, 20)} ", AMBER))
        right: Line = []
        if self.wide:
            left = filled([*left, Span("─" * self.room, dim=True)], 3 + self.name)
            right = [Span(f" {'step':>{self.step}} ", dim=True), Span(f"{'speed':>12}{'last':>7} ", dim=True)]
            right += [Span(f"{fitted(tag, self.values[tag], right=True)} ", bold=True) for tag in self.tags]
        rule = max(self.room - width(left) - width(right), 0)
        return [*left, Span("─" * rule, dim=True), *right]

    def row(self, run: ShownRun) -> Line:
        model = self.model
        sign = _sign(model, run)
        hidden = run.name not in self.drawn
        chosen = run.name == model.run
        mark = "A" if model.comparing[:1] == [run.name] else "B" if model.comparing[1:] == [run.name] else ""
        colour = None if hidden else model.colours.get(run.name)
        line: Line = [
            Span(mark or (" " if hidden else self.letters.get(run.name, "▎")), colour, bold=bool(mark)),
            Span(f"{sign.shape} ", sign.colour),
            Span(fitted(self.labels[run.name], self.name), None, bold=chosen, dim=hidden),
            Span(f" {'' if run.step is None else f'{run.step:,}':>{self.step}} ", dim=hidden),
        ]
        if self.wide:
            line.append(Span(f"{rate(run.rate):>12}{ago(run.age(model.clock())):>7} ", dim=True))
        for tag in self.tags:
            bad = tag in run.broken
            text = f"{self.texts[tag].get(run.name, ''):>{self.values[tag]}} "
            line.append(Span(text, RED if bad else None, bold=bad, dim=hidden))
        line = filled(line, self.room)
        return [span._replace(reverse=True) for span in line] if chosen else line

    @staticmethod
    def _texts(runs: Sequence[ShownRun], tag: str) -> dict[str, str]:
        """The last values of a tag by run, with aligned decimal points."""
        having = [run for run in runs if tag in run.scalars]
        texts = aligned([number(run.scalars[tag].value) for run in having])
        return {run.name: text for run, text in zip(having, texts, strict=True)}


def nothing(model: Model, room: int) -> list[Line]:
    """Why there are no charts, and what happens next."""
    return [[], *([Span(f" {line}")] for line in _wrapped(_reason(model), room - 2))]


def _reason(model: Model) -> str:
    if not model.loaded:
        return "Reading …"
    if not model.runs and not model.exists:
        return f"{clipped(model.path, 60)} does not exist. Waiting for it; this screen updates automatically."
    if not model.runs:
        return f"No event files yet in {clipped(model.path, 60)}. Waiting; this screen updates automatically."
    if not model.listed:
        return f"No run matches {clipped(model.run_filter, 40)!r}. Esc clears the filter."
    if model.tag_filter and tags_of(model.runs.values(), model.kind):
        return f"No tag matches {clipped(model.tag_filter, 40)!r}. Esc clears the filter."
    others = [kind for kind in KINDS if tags_of(model.runs.values(), kind)]
    more = f" Press v for {' and '.join(others)}." if others else ""
    return f"No {model.kind} yet.{more}"


def footer(model: Model, room: int) -> Line:
    """Keys, and facts about the selected run."""
    right = _selected(model, max(room // 2, room - 30))
    shown: list[Key] = []
    used = width(right)
    for key in sorted(
        KEYS, key=lambda key: key.action not in ("help", "quit")
    ):  # help and quit get room first
        if key.short and used + width(_key(key)) <= room:
            shown.append(key)
            used += width(_key(key))
    return beside([span for key in KEYS if key in shown for span in _key(key)], right, room)


def _key(key: Key) -> Line:
    return [Span(f" {key.shown}", bold=True), Span(f" {key.short} ", dim=True)]


def _sign(model: Model, run: ShownRun) -> Sign:
    state = model.states.get(run.name)
    return UNREAD if state is None else SIGNS[state]


def _selected(model: Model, room: int) -> Line:
    if len(model.comparing) == 1:
        return [Span("compare with: choose a run, press c ", AMBER)]
    run = model.runs.get(model.run or "")
    if run is None:
        return []
    parts = [f"step {run.step:,}" if run.step is not None else "", rate(run.rate)]
    age = run.age(model.clock())
    parts.append("" if math.isinf(age) else f"{ago(age)} ago")
    facts = "  ".join(part for part in parts if part)
    name = clipped(run.name, max(room - len(facts) - 6, 8))
    sign = _sign(model, run)
    return [Span(f"{sign.shape} ", sign.colour), Span(name, bold=True), Span(f"  {facts} ")]


def help_lines(room: int, height: int) -> list[Line]:
    """All keys, in two columns if they fit."""
    entries = [key for key in KEYS if key.help]
    lines = [[Span(f" {key.shown:<9}", bold=True), Span(key.help)] for key in entries]
    states: Line = [Span(" states   ", bold=True)]
    for state in STATES:
        states += [Span(SIGNS[state].shape, SIGNS[state].colour), Span(f" {state}  ")]
    title = _rule("help", room)
    if len(lines) + 2 <= height:
        body = [*lines, states]
    else:
        half = (room - 1) // 2
        rows = max(height - 2, 1)
        left, right = lines[:rows], lines[rows : 2 * rows]
        body = [
            [*filled(line, half), Span(" "), *(filled(right[i], half) if i < len(right) else [])]
            for i, line in enumerate(left)
        ] + [states]
    return [filled(line, room) for line in [title, *body][:height]] + [
        filled([], room) for _ in range(height - 1 - len(body))
    ]


def problem_lines(model: Model, room: int, height: int) -> list[Line]:
    """The problems, newest last."""
    title: Line = [
        Span("─ ", dim=True),
        Span(counted(len(model.problems), "problem"), bold=True),
        Span(" · any key closes this ", dim=True),
    ]
    title.append(Span("─" * max(room - width(title), 0), dim=True))
    body: list[Line] = []
    for problem in model.problems[-height:]:
        for i, text in enumerate(_wrapped(str(problem), room - 4)):
            body.append([Span(" · " if i == 0 else "   "), Span(text)])
    if not body:
        body = [[Span(" Nothing was lost.")]]
    lines = [title, *body[-(height - 1) :]]
    return [filled(line, room) for line in lines] + [filled([], room) for _ in range(height - len(lines))]


def _rule(text: str, room: int) -> Line:
    line: Line = [Span("─ ", dim=True), Span(text, bold=True), Span(" · any key closes this ", dim=True)]
    return [*line, Span("─" * max(room - width(line), 0), dim=True)]


def _wrapped(text: str, room: int) -> list[str]:
    """A text in lines of at most `room` cells."""
    import textwrap

    from tbq.text import printable

    return textwrap.wrap(printable(text), max(room, 8), break_on_hyphens=False) or [""]
