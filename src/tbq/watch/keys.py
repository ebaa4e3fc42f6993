"""The keys of `tbq watch`, once: bindings, the line at the bottom and the help are made of this."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """`keys` as Textual calls them, the action they stand for, how people write them, and what they do."""

    keys: str
    action: str
    shown: str
    short: str  # for the line at the bottom; empty if it is not there
    help: str


KEYS = (
    Key("slash", "filter('tag')", "/", "filter", "filter tags: glob, re:… or word"),
    Key("f", "filter('run')", "f", "runs", "filter runs in the same way"),
    Key("j,down", "run(1)", "j ↓", "", "next run"),
    Key("k,up", "run(-1)", "k ↑", "", "previous run"),
    Key("g,home", "run(-1000000)", "g", "", "first run"),
    Key("G,end", "run(1000000)", "G", "", "last run"),
    Key("right,tab", "card(1)", "→ Tab", "", "next chart"),
    Key("left,shift+tab", "card(-1)", "←", "", "previous chart"),
    Key("pagedown,n", "page(1)", "n PgDn", "", "next page of charts"),
    Key("pageup,b", "page(-1)", "b PgUp", "", "previous page of charts"),
    Key("enter", "full", "⏎", "full", "this chart on the whole screen"),
    Key("s", "smooth(1)", "s", "smooth", "more smoothing; at last none"),
    Key("S", "smooth(-1)", "S", "", "less smoothing"),
    Key("l", "log", "l", "log", "log scale"),
    Key("x", "axis", "x", "axis", "x: step, relative, wall time"),
    Key("plus,equals_sign", "zoom(0.5)", "+", "zoom", "zoom in; the axis then stays"),
    Key("minus", "zoom(2)", "-", "", "zoom out"),
    Key("left_square_bracket", "pan(-0.25)", "[", "", "move left"),
    Key("right_square_bracket", "pan(0.25)", "]", "", "move right"),
    Key("0", "unzoom", "0", "", "show all, follow again"),
    Key("p", "pin", "p", "pin", "pin: first, values with runs"),
    Key("c", "compare", "c", "compare", "compare: on one run, another"),
    Key("o", "sort", "o", "sort", "sort runs by something else"),
    Key("space", "hide", "Space", "", "run in charts or not"),
    Key("a", "only", "a", "", "this run alone, or all"),
    Key("w", "wide", "w", "", "runs on the whole width"),
    Key("v", "kind(0)", "v", "view", "next kind of data"),
    Key("1", "kind(1)", "1–4", "", "scalars … histograms"),
    Key("2", "kind(2)", "", "", ""),
    Key("3", "kind(3)", "", "", ""),
    Key("4", "kind(4)", "", "", ""),
    Key("exclamation_mark", "problems", "!", "", "what was lost"),
    Key("escape", "back", "Esc", "", "back"),
    Key("question_mark", "help", "?", "help", "this help"),
    Key("q", "quit", "q", "quit", "quit"),
)
