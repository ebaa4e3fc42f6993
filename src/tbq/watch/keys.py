"""The keys of `tbq watch`, once: bindings, the line at the bottom and the help are made of this."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """`keys` as Textual calls them, the action (`model` calls a method of the model), and how people are told."""

    keys: str
    action: str
    shown: str
    short: str  # for the line at the bottom; empty if it is not there
    help: str


KEYS = (
    Key("slash", "filter('tag')", "/", "filter", "filter tags: glob, re:… or word"),
    Key("f", "filter('run')", "f", "runs", "filter runs in the same way"),
    Key("j,down", "model('move_run', 1)", "j ↓", "", "next run"),
    Key("k,up", "model('move_run', -1)", "k ↑", "", "previous run"),
    Key("g,home", "model('move_run', -1000000)", "g", "", "first run"),
    Key("G,end", "model('move_run', 1000000)", "G", "", "last run"),
    Key("right,tab", "model('move_tag', 1)", "→ Tab", "", "next chart"),
    Key("left,shift+tab", "model('move_tag', -1)", "←", "", "previous chart"),
    Key("pagedown,n", "page(1)", "n PgDn", "", "next page of charts"),
    Key("pageup,b", "page(-1)", "b PgUp", "", "previous page of charts"),
    Key("enter", "model('toggle_full')", "⏎", "full", "this chart on the whole screen"),
    Key("s", "model('next_smooth', 1)", "s", "smooth", "more smoothing; at last none"),
    Key("S", "model('next_smooth', -1)", "S", "", "less smoothing"),
    Key("l", "model('toggle_log')", "l", "log", "log scale"),
    Key("x", "model('next_axis')", "x", "axis", "x: step, relative, wall time"),
    Key("plus,equals_sign", "zoom(0.5)", "+", "zoom", "zoom in; the axis then stays"),
    Key("minus", "zoom(2)", "-", "", "zoom out"),
    Key("left_square_bracket", "pan(-0.25)", "[", "", "move left"),
    Key("right_square_bracket", "pan(0.25)", "]", "", "move right"),
    Key("0", "model('unzoom')", "0", "", "show all, follow again"),
    Key("p", "model('pin')", "p", "pin", "pin: first, values with runs"),
    Key("c", "model('compare')", "c", "compare", "compare: on one run, another"),
    Key("o", "model('next_sort')", "o", "sort", "sort runs by something else"),
    Key("space", "model('hide')", "Space", "", "run in charts or not"),
    Key("a", "model('show_only')", "a", "", "this run alone, or all"),
    Key("w", "model('toggle_wide')", "w", "", "runs on the whole width"),
    Key("v", "model('show_kind', 0)", "v", "view", "next kind of data"),
    Key("1", "model('show_kind', 1)", "1–4", "", "scalars … histograms"),
    Key("2", "model('show_kind', 2)", "", "", ""),
    Key("3", "model('show_kind', 3)", "", "", ""),
    Key("4", "model('show_kind', 4)", "", "", ""),
    Key("exclamation_mark", "problems", "!", "", "what was lost"),
    Key("escape", "undo", "Esc", "", "back"),
    Key("question_mark", "help", "?", "help", "this help"),
    Key("q", "quit", "q", "quit", "quit"),
)
