"""The keys of `tbq watch`: bindings, the bottom line and the help are all derived from this list."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """`keys` in Textual's names, the action (`model` calls a method of the model), and the texts for users."""

    keys: str
    action: str
    shown: str
    short: str  # for the bottom line; empty if it is not shown there
    help: str


KEYS = (
    Key("slash", "filter('tag')", "/", "filter", "filter tags: words, glob, re:…"),
    Key("f", "filter('run')", "f", "runs", "filter runs in the same way"),
    Key("j,down", "model('move_run', 1)", "j ↓", "", "next run"),
    Key("k,up", "model('move_run', -1)", "k ↑", "", "previous run"),
    Key("g,home", "model('move_run', -1000000)", "g", "", "first run"),
    Key("G,end", "model('move_run', 1000000)", "G", "", "last run"),
    Key("right,tab", "model('move_tag', 1)", "→ Tab", "", "next chart"),
    Key("left,shift+tab", "model('move_tag', -1)", "←", "", "previous chart"),
    Key("pagedown,n", "page(1)", "n PgDn", "", "next page of charts"),
    Key("pageup,b", "page(-1)", "b PgUp", "", "previous page of charts"),
    Key("enter", "model('toggle_full')", "⏎", "full", "this chart full screen"),
    Key("s", "model('next_smooth', 1)", "s", "smooth", "more smoothing, then none"),
    Key("S", "model('next_smooth', -1)", "S", "", "less smoothing"),
    Key("l", "model('toggle_log')", "l", "log", "log scale"),
    Key("u", "model('toggle_outliers')", "u", "", "unusual values too, or not"),
    Key("x", "model('next_axis')", "x", "axis", "x: step, relative, wall time"),
    Key("plus,equals_sign", "zoom(0.5)", "+", "zoom", "zoom in; fixes the x axis"),
    Key("minus", "zoom(2)", "-", "", "zoom out"),
    Key("left_square_bracket", "pan(-0.25)", "[", "", "move left"),
    Key("right_square_bracket", "pan(0.25)", "]", "", "move right"),
    Key("0", "model('unzoom')", "0", "", "show all, follow again"),
    Key("p", "model('pin')", "p", "pin", "pin: first, values with runs"),
    Key("c", "model('compare')", "c", "compare", "compare two runs: c on each"),
    Key("o", "model('next_sort')", "o", "sort", "sort runs by something else"),
    Key("space", "model('hide')", "Space", "", "show or hide run in charts"),
    Key("a", "model('show_only')", "a", "", "only this run, or all"),
    Key("w", "model('toggle_wide')", "w", "", "runs on the full width"),
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
